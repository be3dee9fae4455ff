"""The designs by their name: what `family.yaml` names."""

from __future__ import annotations

from adapters.deviation import Family, Historical
from adapters.historical.designs import AckOnReceipt, AppDedup

ACK_ON_RECEIPT = Historical(
    "ack-on-receipt",
    ("CRS-004", "CTL-001", "RCV-007"),
    "acks a Blob when its bytes arrive, so a crash before the handler ended loses the message",
    AckOnReceipt,
)
APP_DEDUP = Historical(
    "app-dedup",
    ("CRS-005", "DDP-001", "DDP-002", "DDP-005", "RCV-007", "RCV-014", "RPW-006"),
    "keeps no record of what was handled and hands duplicates to the app, which is to know them by their Message ID",
    AppDedup,
)
HISTORICAL: tuple[Historical, ...] = (ACK_ON_RECEIPT, APP_DEDUP)
FAMILY = Family(HISTORICAL)
members = FAMILY.members
boot = FAMILY.boot
