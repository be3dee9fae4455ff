"""The two designs that the protocol had before: today's Device with the one decision taken back that replaced each."""

from __future__ import annotations

from reference_impl.device.checks import Blob, Checks
from reference_impl.device.device import Device
from reference_impl.device.recipient import Recipient
from reference_impl.device.verdicts import Hold, Verdict
from reference_impl.wire.content import Content


class AckFirst(Recipient):
    """Acks as soon as the bytes are there, so that no ack can tell whether they could be decrypted.

    Only the End-to-End Version is looked at before; it stands outside of what is sealed.
    """

    def process(self, blob: Blob) -> None:
        if not isinstance(self._checks.check_version(blob), Hold):
            super().ack(blob)
        super().process(blob)

    def ack(self, blob: Blob) -> None:
        """Once is enough; what gives way among the held ones was not acked yet."""
        if blob.envelope is None:
            super().ack(blob)


class AckOnReceipt(Device):
    recipient_class = AckFirst


class NoLookup(Checks):
    def check_duplicate(self, blob: Blob) -> Verdict | None:  # noqa: ARG002 - the app is to know
        return None


class NoRecord(Recipient):
    def record(self, content: Content) -> None:
        """The app stores the Message ID in the transaction of its own data, or so it was told."""


class AppDedup(Device):
    checks_class = NoLookup
    recipient_class = NoRecord
