"""The limits of a Relay: its defaults, and which values it refuses to start with."""

from __future__ import annotations

from dataclasses import dataclass

DAY = 24 * 60 * 60 * 1000
TTL_CEILING = 30 * DAY


@dataclass(frozen=True, slots=True)
class RelaySettings:
    """Times in milliseconds, sizes in bytes of envelope. Not checked here: see `SettingsCheck`."""

    ttl: int = TTL_CEILING
    max_blobs_per_inbox: int = 10_000
    max_bytes_per_inbox: int = 256 * 1024 * 1024
    max_envelope_bytes: int = 65_482
    push_rate_per_second: int = 20
    push_burst: int = 500
    max_sessions_per_device: int = 4


class SettingRefusedError(Exception):
    """The Relay does not start with this value (RLY-015). `setting` is the field of `RelaySettings`."""

    def __init__(self, setting: str, reason: str) -> None:
        super().__init__(f"The relay refuses to start: {setting} {reason}.")
        self.setting = setting


class SettingsCheck:
    """Decides which settings a Relay starts with."""

    def check(self, settings: RelaySettings) -> None:
        """Raise SettingRefusedError for the first value that is not allowed."""
        if settings.ttl < 1:
            raise SettingRefusedError("ttl", f"is {settings.ttl} ms, give at least 1 ms")
        if settings.ttl > self.ttl_ceiling():
            raise SettingRefusedError("ttl", f"is {settings.ttl} ms, give at most {self.ttl_ceiling()} ms")
        if settings.max_sessions_per_device < 1:
            raise SettingRefusedError("max_sessions_per_device", "leaves no session, give at least 1")
        for setting, value in _amounts(settings):
            if value < 1:
                raise SettingRefusedError(setting, f"is {value}, give at least 1")

    def ttl_ceiling(self) -> int:
        """The longest TTL, in milliseconds: exactly 30 days are allowed (RLY-015)."""
        return TTL_CEILING


def _amounts(settings: RelaySettings) -> tuple[tuple[str, int], ...]:
    return (
        ("max_blobs_per_inbox", settings.max_blobs_per_inbox),
        ("max_bytes_per_inbox", settings.max_bytes_per_inbox),
        ("max_envelope_bytes", settings.max_envelope_bytes),
        ("push_rate_per_second", settings.push_rate_per_second),
        ("push_burst", settings.push_burst),
    )
