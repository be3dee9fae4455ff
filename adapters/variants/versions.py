"""Devices that treat End-to-End Versions rightly, each in another way than the reference: what VER leaves open."""

from __future__ import annotations

from dataclasses import replace

from adapters.deviation import Variant
from reference_impl.device.checks import MALFORMED, Blob, Checks
from reference_impl.device.context import Context
from reference_impl.device.dedup import DedupTable
from reference_impl.device.device import Device
from reference_impl.device.effects import HeldForUpgrade, Issue
from reference_impl.device.limits import Limits
from reference_impl.device.notices import Notices
from reference_impl.device.receive_session import ReceiveSession
from reference_impl.device.recipient import Recipient
from reference_impl.device.verdicts import Verdict


def _cap(count: int) -> type[Device]:
    class Deviating(Device):
        limits = replace(Limits(), held_blobs=count)

    return Deviating


class HeldIsReportedOnce(Recipient):
    """Remembers what it reported, as long as it runs."""

    def __init__(
        self, context: Context, notices: Notices, session: ReceiveSession, checks: Checks, dedup: DedupTable
    ) -> None:
        super().__init__(context, notices, session, checks, dedup)
        self._reported: set[str] = set()

    def hold(self, blob: Blob, version: int) -> None:
        if blob.blob_id not in self._reported:
            self._reported.add(blob.blob_id)
            super().hold(blob, version)
            return
        self._held[blob.blob_id] = None
        if len(self._held) > self._context.limits.held_blobs:
            self.drop_oldest_held(blob.session)


class ReportedOnce(Device):
    recipient_class = HeldIsReportedOnce


class QuietNotices(Notices):
    """Leaves out heldForUpgrade where its recipient says that it was raised before."""

    muted = False

    def issue(self, issue: Issue) -> None:
        if not (self.muted and isinstance(issue, HeldForUpgrade)):
            super().issue(issue)


class HeldDurably(Recipient):
    """Notes in Session State what it reported, so that not even a restart reports it again."""

    def hold(self, blob: Blob, version: int) -> None:
        store, name = self._context.store, f"held {blob.blob_id}"
        known = store.read(name) is not None
        if not known:
            with store.transaction():
                store.write(name, "reported")
        if isinstance(self._notices, QuietNotices):
            self._notices.muted = known
        super().hold(blob, version)
        if isinstance(self._notices, QuietNotices):
            self._notices.muted = False


class ReportedOnceForEver(Device):
    notices_class = QuietNotices
    recipient_class = HeldDurably


class ReservedIsMalformed(Checks):
    def check_version(self, blob: Blob) -> Verdict | None:
        verdict = super().check_version(blob)
        return MALFORMED if verdict is not None and blob.version == 0 else verdict


class ReservedVersionMalformed(Device):
    checks_class = ReservedIsMalformed


VARIANTS: tuple[Variant, ...] = (
    Variant("held-cap-110", "holds 110 Blobs; the sources say about 100 (VER-012 warns)", _cap(110)),
    Variant("held-cap-128", "holds 128 Blobs, the most that passes (VER-012 warns)", _cap(128)),
    Variant("held-reported-once", "raises heldForUpgrade once for a Blob while it runs", ReportedOnce),
    Variant("held-reported-once-for-ever", "raises heldForUpgrade once, restarts included", ReportedOnceForEver),
    Variant("reserved-version-malformed", "calls version 0 malformed", ReservedVersionMalformed),
)
