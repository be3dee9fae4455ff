"""Which setting a relay refused that ended at its start: a program says so in words only."""

from __future__ import annotations

import re
from collections.abc import Mapping

DEFAULTS: Mapping[str, int] = {
    "ttl": 30 * 24 * 60 * 60 * 1000,
    "max_blobs_per_inbox": 10_000,
    "max_bytes_per_inbox": 256 * 1024 * 1024,
    "max_envelope_bytes": 65_482,
    "push_rate_per_second": 20,
    "push_burst": 500,
    "max_sessions_per_device": 4,
    "max_connections": 1_000,
    "handshake_deadline": 10_000,
    "push_session_deadline": 30_000,
    "idle_close": 75_000,
    "shutdown_drain": 10_000,
}
"""The spec's values, in the units of the driver protocol: no relay refuses to start with one of these."""


def refused_setting(settings: Mapping[str, int], words: str) -> str:
    """The one that the last words name, else the first that is not the spec's own value."""
    unusual = [name for name, value in settings.items() if value != DEFAULTS.get(name)] or list(settings)
    named = [name for name in unusual if _spelt(name).search(words)]
    return (named or unusual)[0]


def _spelt(name: str) -> re.Pattern[str]:
    """However a program spells it: push_burst, PUSH-BURST, PushBurst, push burst."""
    return re.compile("[ _-]?".join(name.split("_")), re.IGNORECASE)
