"""Devices that send as the spec allows, and not as the reference does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from adapters.deviation import Variant, with_outbox
from reference_impl.device.backoff import Backoff
from reference_impl.device.connection import ConnectionTracker
from reference_impl.device.device import Device
from reference_impl.device.effects import (
    Lost,
    PushAnswer,
    SendFailed,
    SessionAnswer,
    Undeliverable,
    Unsupported,
)
from reference_impl.device.limits import DAY, MINUTE, SECOND, Limits
from reference_impl.device.outbox import Lane, Outbox
from reference_impl.device.receive_session import ReceiveSession
from reference_impl.device.session_state import SessionState
from reference_impl.device.store import OutboxEntry
from reference_impl.wire.json_types import Json

# -- pauses


class OneAndAHalf(Backoff):
    def delay(self, failures: int) -> int:
        delay = self._first
        for _ in range(min(failures - 1, 30)):
            delay = delay * 3 // 2
        return min(delay, self._maximum)


class BacksOffSlowly(Outbox):
    backoff_class = OneAndAHalf


class BacksOffFast(Device):
    limits = replace(Limits(), push_backoff_factor=3)


class Jitter(Backoff):
    """Up to a fifth more or less, never under the first pause, never over the last."""

    def delay(self, failures: int) -> int:
        percent = 80 + failures * 37 % 41
        return max(self._first, min(super().delay(failures) * percent // 100, self._maximum))


class Jitters(Outbox):
    backoff_class = Jitter


class LostIsRetriedAtOnce(Outbox):
    """The first time: a new Push Session may do. After that it waits like everybody."""

    def answered(self, request: int, answer: PushAnswer) -> None:
        entry = self._pushed.get(request)
        super().answered(request, answer)
        lost_before: set[str] = getattr(self, "_lost_before", set())
        self._lost_before = lost_before
        if entry is None:
            return
        if not isinstance(answer, Lost):
            lost_before.discard(entry.recipient)
        elif entry.recipient not in lost_before:
            lost_before.add(entry.recipient)
            lane = self._lane(entry.recipient)
            lane.retry_at = None
            self.pump_lane(lane)


class ReconnectKeepsPauses(Outbox):
    """Retries at once, and goes on with the pauses where they were."""

    def connected(self) -> None:
        for lane in self._lanes.values():
            lane.retry_at = None
        self.pump()


class Polls(Outbox):
    """Looks once a second whether a retry is due."""

    TICK: ClassVar[int] = SECOND

    def next_timer(self) -> int | None:
        moment = super().next_timer()
        if moment is None or not any(lane.retry_at is not None for lane in self._lanes.values()):
            return moment
        now = self._context.now
        return min(moment, now - now % self.TICK + self.TICK) if self._connection.usable else moment

    def is_blocked(self, lane: Lane) -> bool:
        now = self._context.now
        last_tick = now - now % self.TICK
        return lane.in_flight is not None or (lane.retry_at is not None and lane.retry_at > last_tick)


# -- expiry


class ExpiresAfterTheInstant(Outbox):
    def expires_at(self, entry: OutboxEntry) -> int | None:
        moment = super().expires_at(entry)
        return None if moment is None else moment + 1


class ExpiresOnSweep(Outbox):
    """Looks for expired entries once a minute and before it pushes."""

    _next_sweep = 0

    def pump_lane(self, lane: Lane) -> None:
        self.expire()
        super().pump_lane(lane)

    def tick(self) -> None:
        if self._context.now >= self._next_sweep:
            self.expire()
            self._next_sweep = self._context.now + MINUTE
        if self._connection.usable:
            self.pump()

    def next_timer(self) -> int | None:
        expiries, self._expiries = self._expiries, []
        retry = super().next_timer()
        self._expiries = [each for each in expiries if each[1:] in self._live]
        if not self._expiries:
            return retry
        sweep = max(self._expiries[0][0], self._next_sweep)
        return sweep if retry is None else min(sweep, retry)


class OnePushAtATime(Outbox):
    """One push in flight in all, over one Push Session; who is refused makes room for the others."""

    def is_blocked(self, lane: Lane) -> bool:
        return bool(self._pushed) or super().is_blocked(lane)

    def answered(self, request: int, answer: PushAnswer) -> None:
        super().answered(request, answer)
        self.pump()


class ReportsOncePerMessage(Outbox):
    def fail(self, entries: list[OutboxEntry], reason: Undeliverable) -> None:
        reported: set[str] = getattr(self, "_reported", set())
        self._reported = reported
        self.remove(entries)
        for entry in entries:
            if entry.message_id not in reported:
                reported.add(entry.message_id)
                self._notices.issue(SendFailed(entry.message_id, reason))


class ReportsMessagesOnly(Outbox):
    """The app never heard of a control message, so it does not hear of its failure."""

    def fail(self, entries: list[OutboxEntry], reason: Undeliverable) -> None:
        super().fail([entry for entry in entries if entry.kind == "sync"], reason)
        self.remove([entry for entry in entries if entry.kind != "sync"])


# -- sessions and seals


class EarlySession(ReceiveSession):
    def may_open(self) -> bool:
        return self._connection.usable


class WaitsForSession(Outbox):
    """Pushes only while there is a Receive Session."""

    has_session: Callable[[], bool] = staticmethod(lambda: False)

    def next_entry(self, lane: Lane) -> OutboxEntry | None:
        return super().next_entry(lane) if self.has_session() else None


class PushesBehindSession(Device):
    receive_session_class = EarlySession
    outbox_class = WaitsForSession

    def _connect_parts(self) -> None:
        super()._connect_parts()
        if isinstance(self.outbox, WaitsForSession):
            self.outbox.has_session = lambda: self.session.current is not None

    def session_answered(self, request: int, answer: SessionAnswer) -> None:
        super().session_answered(request, answer)
        self.outbox.pump()


class SealsOnce(Outbox):
    """Keeps sealed bytes for the next try; a control message is sealed again when they are a day old."""

    def seal(self, entry: OutboxEntry) -> Json:
        kept: dict[tuple[str, str], tuple[int, Json]] = getattr(self, "_kept", {})
        self._kept = kept
        key = (entry.message_id, entry.recipient)
        sealed_at, sealed = kept.get(key, (-DAY, None))
        if sealed is None or (entry.kind != "sync" and self._context.now - sealed_at >= DAY):
            sealed = super().seal(entry)
            kept[key] = (self._context.now, sealed)
        return sealed


class SkipsSequences(SessionState):
    def take_sequence(self) -> int:
        self._sequence += 6
        return super().take_sequence()


class LeavesGaps(Device):
    session_state_class = SkipsSequences


# -- a Transport Version that is not spoken


class UsableAnyhow(ConnectionTracker):
    @property
    def usable(self) -> bool:
        return self.current.state in ("connected", "relayVersionUnsupported")


class TriesUnsupportedAgain(Outbox):
    """A relay may be upgraded too: asks again every five seconds."""

    PAUSE: ClassVar[int] = 5 * SECOND

    def answered(self, request: int, answer: PushAnswer) -> None:
        entry = self._pushed.get(request)
        super().answered(request, answer)
        if entry is not None and isinstance(answer, Unsupported):
            self._lane(entry.recipient).retry_at = self._context.now + self.PAUSE


class HopesForTheRelay(Device):
    connection_class = UsableAnyhow
    outbox_class = TriesUnsupportedAgain


class UnsupportedForGood(ConnectionTracker):
    """Until the library is upgraded, which takes a start."""

    def connected(self) -> None:
        if self.current.state != "relayVersionUnsupported":
            super().connected()

    def disconnected(self) -> None:
        if self.current.state != "relayVersionUnsupported":
            super().disconnected()


class WaitsForUpgrade(Device):
    connection_class = UnsupportedForGood


_OUTBOXES: tuple[tuple[str, str, type[Outbox]], ...] = (
    ("backoff-factor-one-and-a-half", "grows its pauses by half: the factor is open", BacksOffSlowly),
    ("backoff-jitter", "jitters its pauses by a fifth: jitter is open", Jitters),
    ("lost-is-retried-at-once", "retries a lost push at once, the first time, on a new session", LostIsRetriedAtOnce),
    ("reconnect-keeps-pauses", "goes on with the grown pauses after a reconnect's retry", ReconnectKeepsPauses),
    ("polls", "looks once a second for retries that are due", Polls),
    ("expires-after-the-instant", "expires right after 30 days: the instant itself is open", ExpiresAfterTheInstant),
    ("expires-on-sweep", "notices what expired within a minute, or before it pushes", ExpiresOnSweep),
    ("reports-once-per-message", "raises sendFailed once per message, not per recipient", ReportsOncePerMessage),
    ("reports-messages-only", "raises no sendFailed for control messages", ReportsMessagesOnly),
    ("one-push-at-a-time", "has one push in flight in all: parallel pushes are not demanded", OnePushAtATime),
    ("seals-once", "keeps sealed bytes in memory for the next try", SealsOnce),
)

_DEVICES: tuple[tuple[str, str, type[Device]], ...] = (
    ("backoff-factor-three", "grows its pauses threefold: the factor is open", BacksOffFast),
    ("pushes-behind-session", "pushes only once the Receive Session is open", PushesBehindSession),
    ("leaves-gaps", "skips Sequences: they grow, and need not be dense", LeavesGaps),
    ("hopes-for-the-relay", "asks an unsupported relay again every five seconds", HopesForTheRelay),
    ("waits-for-upgrade", "stays unsupported until it is started again", WaitsForUpgrade),
)

VARIANTS: tuple[Variant, ...] = (
    *(Variant(name, does, with_outbox(outbox)) for name, does, outbox in _OUTBOXES),
    *(Variant(name, does, device) for name, does, device in _DEVICES),
)
