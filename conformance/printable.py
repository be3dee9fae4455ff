"""Text from outside, made safe to print: no terminal escapes, no control characters, no hidden direction marks."""

from __future__ import annotations

import unicodedata

LONGEST = 4000


def printable(text: str) -> str:
    """Escape everything that a terminal or a reader could mistake; keep line ends and cut what is very long."""
    cut = text if len(text) <= LONGEST else text[:LONGEST] + f" … ({len(text)} characters)"
    return "".join(_shown(character) for character in cut)


def _shown(character: str) -> str:
    if character == "\n" or (character.isprintable() and unicodedata.category(character) != "Cf"):
        return character
    return character.encode("unicode_escape").decode("ascii")
