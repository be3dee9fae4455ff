"""Text from outside, made safe to print: no terminal escapes, no control characters, no hidden direction marks."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

from reference_impl.wire.json_types import Json

LONGEST = 4000


def printable(text: str) -> str:
    """Escape everything that a terminal or a reader could mistake; keep line ends and cut what is very long."""
    cut = text if len(text) <= LONGEST else text[:LONGEST] + f" … ({len(text)} characters)"
    return "".join(_shown(character) for character in cut)


def flow(value: Json) -> str:
    """A JSON value as vectors write it: `{state: connected}`, `[bob, carol]`."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {flow(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(flow(each) for each in value) + "]"
    words = {True: "true", False: "false", None: "null"}
    return words[value] if value is None or isinstance(value, bool) else str(value)


def _shown(character: str) -> str:
    if character == "\n" or (character.isprintable() and unicodedata.category(character) != "Cf"):
        return character
    return character.encode("unicode_escape").decode("ascii")
