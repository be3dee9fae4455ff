"""What a killed device must come to once everything around it is well again: the judgement of the crash sweep."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.delivery.device_records import Delivered, HandlerEnded, IssueRaised, PushAnswered, SendReturned
from conformance.delivery.device_stimuli import DeviceStimuli
from conformance.delivery.device_world import WINDOW, DeviceWorld
from conformance.delivery.kit_relay import Blob
from conformance.engine.argument import Argument
from conformance.outcome import SpecBrokenError
from reference_impl.wire.content import Tag

MINUTE = 60_000
LONG_ENOUGH = 10 * MINUTE
"""Twice the longest pause that a device may make before it tries something again (SND-011)."""
DAY = 86_400_000
OUTBOX_EXPIRY = 30 * DAY
DROPS = frozenset(("unreadable", "unauthorized"))
PERMANENT = frozenset(("too_large", "malformed"))
PROBE = "sent-after-the-crash"
COPIES = 8
"""So many handled messages are delivered once more; each further one would show the same."""


class Recovery:
    """Starts a killed device again on a relay that takes everything, and says what is missing (CRS-001 to CRS-006).

    The promises judge what was done too much; this judges what was not done.
    """

    def __init__(self, world: DeviceWorld, stimuli: DeviceStimuli) -> None:
        self._world = world
        self._stimuli = stimuli

    def run(self) -> None:
        """Raises SpecBrokenError for the first thing that is missing."""
        world = self._world
        had_handler = world.had_handler
        world.kill()
        world.stop_killing()
        self._make_well()
        world.start(Argument({"connected": True}))
        if had_handler:
            self._stimuli.register_handler(Argument(None))
        world.settle()
        if "clock" in world.system.capabilities:
            self._wait(LONG_ENOUGH)
        world.learn_status()
        if world.member:
            self._send()
            self._check_sends()
        if had_handler:
            self._check_inbox()
            self._check_lost()
        if had_handler and world.member:
            self._deliver_copies()

    def _make_well(self) -> None:
        """Everything un-acked is delivered again, every push accepted, every handler returns."""
        world = self._world
        world.redelivers = True
        world.handler = "returns"
        relay = world.relay
        relay.answer_pushes(Argument("ack", "answer"))
        relay.acks_arrive = True
        if not relay.speaks(world.options.transport_version):
            relay.versions = (world.options.transport_version, world.options.transport_version)

    def _wait(self, duration: int) -> None:
        world = self._world
        deadline = world.now + duration
        while world.now < deadline:
            timer = world.settle()
            world.move_clock(deadline if timer is None or timer <= world.now else min(timer, deadline))

    def _send(self) -> None:
        """One more message: it needs a Sequence of its own (SND-025), and goes out behind the others (SND-022)."""
        limit = self._world.options.max_payload_bytes
        body = "" if limit == 0 else "!"
        self._stimuli.send(Argument({"as": PROBE, "body": body}))
        self._world.settle()

    def _check_sends(self) -> None:
        """CRS-002: what `send()` promised was pushed to every recipient who still is one, or reported as failed."""
        world = self._world
        done = {
            (record.message_id, record.recipient)
            for record in world.history
            if isinstance(record, PushAnswered) and (record.outcome == "ack" or record.code in PERMANENT)
        }
        members = world.member_ids()
        for record in self._promised():
            for name in record.recipients:
                if (record.message_id, name) not in done and name in members:
                    before = "" if record.label == PROBE else " before the crash"
                    raise SpecBrokenError(
                        f"send({record.label}) returned{before}, and {name} never gets the message",
                        expected=f"a push of {record.label} to {name}",
                        observed="none that the relay accepted",
                        clause="CRS-002",
                    )

    def _promised(self) -> Iterator[SendReturned]:
        """The sends that returned and were not reported as failed, nor may have expired."""
        world = self._world
        failed = {
            record.details.get("message_id")
            for record in world.history
            if isinstance(record, IssueRaised) and record.case == "sendFailed"
        }
        for record in world.history:
            if not isinstance(record, SendReturned) or record.message_id in failed:
                continue
            if world.at - record.at < OUTBOX_EXPIRY:
                yield record

    def _check_inbox(self) -> None:
        """CRS-004: what was delivered is handled or dropped, and acked."""
        world = self._world
        own = world.options.end_to_end_version
        for blob in world.relay.unacked(world.group.alice.noise_pub):
            if blob.version <= own:
                raise SpecBrokenError(
                    f"{blob.label} stays in the inbox after the restart",
                    expected=f"a DeliverAck for {blob.label}",
                    observed="none",
                    clause="CRS-004",
                )

    def _check_lost(self) -> None:
        """CRS-004: what the relay was told to delete had been handled, given up or dropped with an issue.

        The issue may have died with the device. So what could not be handled by now is left out.
        """
        world = self._world
        dropped = any(isinstance(record, IssueRaised) and record.case in DROPS for record in world.history)
        done = {record.message_id for record in world.history if isinstance(record, HandlerEnded)}
        usable = {record.label for record in world.history if isinstance(record, Delivered) and record.usable}
        for blob in world.relay.blobs.values():
            ended = dropped or blob.content.message_id in done
            if blob.acked and blob.label in usable and not ended and self._can_be_handled(blob):
                raise SpecBrokenError(
                    f"{blob.label} is lost: it was acked before the crash, and its handler never ended",
                    expected=f"{blob.label} is delivered again, and its handler runs again",
                    observed="nothing, for the relay has deleted it",
                    clause="CRS-004",
                )

    def _can_be_handled(self, blob: Blob) -> bool:
        world = self._world
        is_mine = blob.recipient_pub == world.group.alice.noise_pub and world.group.is_member(blob.sender)
        return is_mine and blob.content.tag == Tag.SYNC and world.now - blob.content.sender_timestamp <= WINDOW

    def _deliver_copies(self) -> None:
        """CRS-003: the sender of a handled message may push it again, whatever became of this device meanwhile.

        That a copy is not handled is for the promises to say.
        """
        for blob in self._handled()[:COPIES]:
            self._stimuli.deliver_copy(Argument({"of": blob.label, "as": f"{blob.label}, pushed again"}))
            self._world.settle()
        self._check_inbox()

    def _handled(self) -> list[Blob]:
        """One blob of each message whose handler returned, addressed to who the device is now."""
        world = self._world
        returned = {
            record.message_id for record in world.history if isinstance(record, HandlerEnded) and not record.threw
        }
        found: dict[str, Blob] = {}
        for blob in world.relay.blobs.values():
            is_mine = blob.recipient_pub == world.group.alice.noise_pub
            if is_mine and blob.usable and blob.content.tag == Tag.SYNC and blob.content.message_id in returned:
                found.setdefault(blob.content.message_id, blob)
        return list(found.values())
