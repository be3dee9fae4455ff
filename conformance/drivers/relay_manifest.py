"""How a manifest with `driver: tcp` has a relay started: arguments, environment, settings, readiness, its key."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from conformance.outcome import NotRunError

Words = Mapping[str, str]
"""What stands in place of `{data}`, `{receive_port}` and the like."""


@dataclass(frozen=True, slots=True)
class Setting:
    """How one limit is passed: as `arguments` or as an `environment` variable, its value in place of `{value}`."""

    format: str
    arguments: tuple[str, ...] = ()
    environment: str = ""


@dataclass(frozen=True, slots=True)
class Ready:
    """How readiness shows: a URL that answers 200, a line of output that matches, or both listeners accepting."""

    http: str = ""
    line: re.Pattern[str] | None = None


@dataclass(frozen=True, slots=True)
class RelayKey:
    """Where the relay's public key is found, 64 hex digits: given, in a file, or in a line of output.

    A `command` is run beforehand on each new data folder; the line is then searched in what it prints, and else in what
    the relay prints.
    """

    hex: str = ""
    file: str = ""
    line: re.Pattern[str] | None = None
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RelayManifest:
    """The part of a manifest that tells how to run a relay. Texts hold placeholders: `filled` puts them in."""

    command: tuple[str, ...]
    relay_key: RelayKey
    environment: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Setting] = field(default_factory=dict)
    ready: Ready = field(default_factory=Ready)
    stop: Literal["SIGTERM", "SIGINT"] = "SIGTERM"

    def arguments(self, words: Words, settings: Mapping[str, int]) -> list[str]:
        """The command with its settings. Raises NotRunError for a setting that the manifest does not map."""
        passed = [self._passed(name, value) for name, value in settings.items()]
        own = [filled(part, words) for part in self.command]
        return own + [filled(part, value) for setting, value in passed for part in setting.arguments]

    def variables(self, words: Words, settings: Mapping[str, int]) -> dict[str, str]:
        """The environment variables with their settings. Raises NotRunError for a setting without a way."""
        passed = [self._passed(name, value) for name, value in settings.items()]
        own = {name: filled(text, words) for name, text in self.environment.items()}
        return own | {setting.environment: value["value"] for setting, value in passed if setting.environment}

    def _passed(self, name: str, value: int) -> tuple[Setting, Words]:
        setting = self.settings.get(name)
        if setting is None:
            raise NotRunError(f"the manifest does not say how {name} is set")
        text = FORMATS[setting.format](value)
        if text is None:
            raise NotRunError(f"{name}: {value} cannot be written in the manifest's format {setting.format}")
        return setting, {"value": text}


_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


def filled(text: str, words: Words) -> str:
    """The text with its placeholders replaced; what is no placeholder stays."""
    return _PLACEHOLDER.sub(lambda match: words.get(match[1], match[0]), text)


def placeholders(text: str) -> list[str]:
    return _PLACEHOLDER.findall(text)


def _whole_seconds(milliseconds: int) -> str | None:
    return None if milliseconds % 1000 else str(milliseconds // 1000)


FORMATS: Mapping[str, Callable[[int], str | None]] = {
    "count": str,
    "ms": str,
    "s": _whole_seconds,
    "go_duration": lambda milliseconds: f"{milliseconds}ms",
}
"""How a value is written: a number of things, or a duration, which settings give in ms."""
