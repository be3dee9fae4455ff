"""What a file breaks of its JSON Schema, in plain words: where, what is wrong, and what is allowed.

`$defs` that hold a pattern or alternatives carry a `description` that completes "must be …".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import cast

import jsonschema_rs
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from conformance.data_files import vectors_root
from conformance.strict_yaml import NodePath, Value

_LONGEST_LIST = 40
BARE = "without an argument"
"""How the schema describes a verb or kind that stands alone and may not."""


@dataclass(frozen=True, slots=True)
class SchemaFault:
    """One thing wrong: the path of the node it is about, and a sentence without its place.

    For a field that may not be there, `node` is the field and `place` the mapping that holds it.
    """

    node: NodePath
    reason: str
    is_field: bool = False

    @property
    def place(self) -> NodePath:
        return self.node[:-1] if self.is_field else self.node


class FileSchema:
    """One schema file of `vectors/schema/`, or a definition in it.

    The compiled validator answers for what is right; the slow one explains what is not.
    """

    def __init__(self, name: str, definition: str = "") -> None:
        schema = json.loads((vectors_root() / "schema" / name).read_text(encoding="utf-8"))
        if definition:
            schema = {"$schema": schema["$schema"], "$ref": f"#/$defs/{definition}", "$defs": schema["$defs"]}
        self._fast = jsonschema_rs.Draft202012Validator(schema)
        self._slow = Draft202012Validator(schema)

    def faults(self, value: Value) -> list[SchemaFault]:
        """Every fault, in the order of the document; none if the value fits."""
        if self._fast.is_valid(value):
            return []
        found = [fault for error in self._slow.iter_errors(value) for fault in _faults_of(error)]
        if not found:
            error = next(iter(self._fast.iter_errors(value)))
            found = [SchemaFault(tuple(error.instance_path), f"{error.message}.")]
        return list(dict.fromkeys(found))


@cache
def file_schema(name: str, definition: str = "") -> FileSchema:
    """The schema file of that name, or a definition in it, compiled once."""
    return FileSchema(name, definition)


def nearest(word: str, known: Iterable[str]) -> str:
    """` (did you mean x?)` if one of the known words is close, else nothing."""
    close = get_close_matches(word, list(known), n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def listed(words: Sequence[str]) -> str:
    """`a, b or c`; a long list is cut."""
    shown = list(words[:_LONGEST_LIST]) + (["…"] if len(words) > _LONGEST_LIST else [])
    if len(shown) < 2:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} or {shown[-1]}"


def shown(value: object) -> str:
    """A value as YAML would write it, cut to a line."""
    text = json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else f"`{value}`"
    return text if len(text) <= 60 else text[:59] + "…"


@dataclass(frozen=True, slots=True)
class _Broken:
    """One rule that does not hold: its keyword and operand, the value it judged, the schema it stands in."""

    node: NodePath
    keyword: str
    rule: Value
    value: Value
    schema: dict[str, Value]

    @property
    def options(self) -> list[Value]:
        """The operand as a list, also where it is a single word."""
        return self.rule if isinstance(self.rule, list) else [self.rule]

    @property
    def known(self) -> list[str]:
        properties = self.schema.get("properties", {})
        return sorted(properties) if isinstance(properties, dict) else []

    @property
    def fields(self) -> list[str]:
        return list(self.value) if isinstance(self.value, dict) else []


def _faults_of(error: ValidationError) -> list[SchemaFault]:
    schema = error.schema if isinstance(error.schema, dict) else {}
    rule = cast("Value", error.validator_value)
    keyword = str(error.validator) if isinstance(error.validator, str) else ""
    broken = _Broken(tuple(error.absolute_path), keyword, rule, cast("Value", error.instance), schema)
    if keyword == "additionalProperties" and rule is False:
        return _unknown_fields(broken)
    if keyword == "not":
        return [_misplaced(broken)]
    if keyword == "required":
        return [SchemaFault(broken.node, f"{field} is missing.") for field in _missing(broken)]
    return [SchemaFault(broken.node, f"{_sentence(broken)}.")]


def _unknown_fields(broken: _Broken) -> list[SchemaFault]:
    return [
        SchemaFault((*broken.node, field), f"{field} is unknown here{_choice(field, broken.known)}.", is_field=True)
        for field in broken.fields
        if field not in broken.known
    ]


def _misplaced(broken: _Broken) -> SchemaFault:
    """A field, or a bare word, that the description says is out of place."""
    why = str(broken.schema.get("description", "here"))
    if why == BARE:
        return SchemaFault(broken.node, f"{shown(broken.value)} may not stand {why}.")
    return SchemaFault(broken.node, f"{broken.node[-1]} may not stand {why}.", is_field=True)


def _choice(word: Value, known: list[str]) -> str:
    """The near word that was meant, or else every word that is allowed."""
    near = nearest(word, known) if isinstance(word, str) else ""
    return near or f"; allowed: {listed(known) or 'nothing'}"


def _missing(broken: _Broken) -> list[str]:
    return [str(field) for field in broken.options if field not in broken.fields]


def _sentence(broken: _Broken) -> str:
    words = _WORDS.get(broken.keyword)
    if words:
        return words(broken)
    described = broken.schema.get("description")
    if described:
        return f"{shown(broken.value)} must be {described}"
    return f"{shown(broken.value)} may not stand here"


def _type(broken: _Broken) -> str:
    return f"{shown(broken.value)} must be {listed([_TYPES[str(each)] for each in broken.options])}"


def _enum(broken: _Broken) -> str:
    allowed = [each if isinstance(each, str) else json.dumps(each) for each in broken.options]
    return f"{shown(broken.value)} is not allowed{_choice(broken.value, allowed)}"


def _const(broken: _Broken) -> str:
    return f"{shown(broken.value)} must be {json.dumps(broken.rule)}"


def _minimum(broken: _Broken) -> str:
    return f"{shown(broken.value)} must be {broken.rule} or more"


def _maximum(broken: _Broken) -> str:
    return f"{shown(broken.value)} must be {broken.rule} or less"


def _too_few(broken: _Broken) -> str:
    return "this may not be empty" if broken.rule == 1 else f"{shown(broken.value)} must hold {broken.rule} at least"


def _too_many(broken: _Broken) -> str:
    return f"{shown(broken.value)} may hold {broken.rule} at most"


def _unique(_: _Broken) -> str:
    return "an entry stands twice in this list"


def _together(broken: _Broken) -> str:
    rules = broken.rule if isinstance(broken.rule, dict) else {}
    wanted = {name: needs for name, needs in rules.items() if name in broken.fields and isinstance(needs, list)}
    lacking = {name: [str(need) for need in needs if need not in broken.fields] for name, needs in wanted.items()}
    return "; ".join(f"{name} needs {listed(needs)} beside it" for name, needs in lacking.items() if needs)


_TYPES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "null",
}
_WORDS: dict[str, Callable[[_Broken], str]] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "minimum": _minimum,
    "maximum": _maximum,
    "minLength": _too_few,
    "minItems": _too_few,
    "minProperties": _too_few,
    "maxItems": _too_many,
    "maxProperties": _too_many,
    "uniqueItems": _unique,
    "dependentRequired": _together,
}
