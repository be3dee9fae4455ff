"""A strict reader of YAML: plain data, one meaning a scalar, and a line number for every node.

YAML 1.1 lets `no` be false, `1:30` be 90 and `010` be 8. A vector must read alike in every language, so
whatever two readers could take differently is a fault here that says what to write instead. The reader works
on parser events: aliases are never followed, nothing is constructed, depth is bounded before it is reached.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import yaml

MAX_FILE_BYTES = 1024 * 1024
MAX_DEPTH = 32
MAX_INTEGER = 2**64 - 1

Value = None | bool | int | str | list["Value"] | dict[str, "Value"]
NodePath = tuple[str | int, ...]


class YamlError(ValueError):
    """A file that cannot be read as strict YAML; its text is one sentence, `file:line: reason`."""

    def __init__(self, path: Path | str, line: int, reason: str) -> None:
        super().__init__(f"{path}:{line}: {reason}")
        self.path = str(path)
        self.line = line
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Document:
    """One YAML document: its value, and the line (from 1) of each of its nodes."""

    path: str
    value: Value
    lines: dict[NodePath, int] = field(repr=False)

    def line_of(self, node: NodePath) -> int:
        """The line on which the node starts; for a node that the text does not hold, its nearest parent's."""
        while node and node not in self.lines:
            node = node[:-1]
        return self.lines[node]


def load_documents(path: Path | str) -> list[Document]:
    """Every document of the file, or the first fault as `YamlError`."""
    documents, faults = scan_documents(path)
    if faults:
        raise faults[0]
    return documents


def scan_documents(path: Path | str) -> tuple[list[Document], list[YamlError]]:
    """Every document that could be read, and every fault found; with faults, what was read is in doubt."""
    builder = _Builder(str(path))
    try:
        text = _read(Path(path))
        builder.last_line = len(text.splitlines()) or 1
        _refuse_odd_characters(path, text)
        for event in _events(text):
            builder.take(event)
    except YamlError as error:
        builder.faults.append(error)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = min(mark.line + 1, builder.last_line) if mark else 1
        problem = _one_line(error.problem or error.context or "it cannot be parsed")
        builder.faults.append(YamlError(path, line, f"this is not YAML: {problem}."))
    except (yaml.YAMLError, ValueError) as error:
        builder.faults.append(YamlError(path, 1, f"this is not YAML: {_one_line(str(error))}."))
    if not builder.documents and not builder.faults:
        builder.faults.append(YamlError(path, 1, "the file holds no document; write one."))
    return builder.documents, sorted(builder.faults, key=lambda fault: fault.line)


def _read(path: Path) -> str:
    try:
        if not path.is_file():
            raise YamlError(path, 1, "there is no such file, or it is not a regular one.")
        with path.open("rb") as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, YamlError):
            raise
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise YamlError(path, 1, f"the file cannot be read: {reason}.") from error
    if len(data) > MAX_FILE_BYTES:
        raise YamlError(path, 1, f"the file is larger than {MAX_FILE_BYTES} bytes; split it.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise YamlError(path, line, "the file is not UTF-8; save it as UTF-8.") from error


# Line breaks that only YAML 1.1 knows would make line numbers and texts differ between readers.
_ODD = re.compile("[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]|\r(?!\n)")


def _refuse_odd_characters(path: Path | str, text: str) -> None:
    odd = _ODD.search(text)
    if odd:
        line = text.count("\n", 0, odd.start()) + 1
        name = f"U+{ord(odd.group()):04X}"
        reason = f'the character {name} may not stand here; write it as "\\u…" in double quotes.'
        raise YamlError(path, line, reason)


def _events(text: str) -> Iterator[yaml.Event]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    yield from yaml.parse(text, Loader=loader)


def _one_line(text: str) -> str:
    return " ".join(text.split()).rstrip(".")


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end is still to come."""

    path: NodePath
    node: list[Value] | dict[str, Value]
    key: str | None = None


class _Builder:
    """Builds documents from parser events, and goes on after a fault that leaves the structure readable."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.last_line = 1
        self.documents: list[Document] = []
        self.faults: list[YamlError] = []
        self._open: list[_Open] = []
        self._root: Value = None
        self._lines: dict[NodePath, int] = {}
        self._actions: dict[type[yaml.Event], Callable[[yaml.Event], None]] = {
            yaml.DocumentStartEvent: self._start_document,
            yaml.DocumentEndEvent: self._end_document,
            yaml.MappingStartEvent: self._start_mapping,
            yaml.SequenceStartEvent: self._start_sequence,
            yaml.MappingEndEvent: self._end_container,
            yaml.SequenceEndEvent: self._end_container,
            yaml.ScalarEvent: self._scalar,
            yaml.AliasEvent: self._alias,
        }

    def take(self, event: yaml.Event) -> None:
        action = self._actions.get(type(event))
        if action:
            action(event)

    def _line(self, event: yaml.Event) -> int:
        """What is missing at the end of the file is told at its last line."""
        return min(event.start_mark.line + 1, self.last_line) if event.start_mark else 1

    def _fault(self, event: yaml.Event, reason: str) -> YamlError:
        return YamlError(self.path, self._line(event), reason)

    def _report(self, event: yaml.Event, reason: str) -> None:
        self.faults.append(self._fault(event, reason))

    def _start_document(self, event: yaml.Event) -> None:
        self._root, self._lines = None, {}
        if getattr(event, "version", None) or getattr(event, "tags", None):
            self._report(event, "a % directive may not stand here; delete it.")

    def _end_document(self, _event: yaml.Event) -> None:
        self.documents.append(Document(self.path, self._root, self._lines))

    def _start_mapping(self, event: yaml.Event) -> None:
        self._start_container(event, {})

    def _start_sequence(self, event: yaml.Event) -> None:
        self._start_container(event, [])

    def _start_container(self, event: yaml.Event, node: list[Value] | dict[str, Value]) -> None:
        if self._expects_key():
            raise self._fault(event, "a key must be text, not a list or a mapping.")
        if len(self._open) >= MAX_DEPTH:
            raise self._fault(event, f"this is nested deeper than {MAX_DEPTH} levels.")
        self._refuse_marks(event)
        path = self._place(node, event)
        self._open.append(_Open(path, node))

    def _end_container(self, _event: yaml.Event) -> None:
        self._open.pop()

    def _alias(self, event: yaml.Event) -> None:
        name = getattr(event, "anchor", "")
        self._report(event, f"the alias *{name} may not stand here; write the value out.")
        if self._expects_key():
            self._take_key(f"*{name}", event)
        else:
            self._place(None, event)

    def _scalar(self, event: yaml.Event) -> None:
        assert isinstance(event, yaml.ScalarEvent)  # noqa: S101 - the table above sends nothing else here
        self._refuse_marks(event)
        text = str(event.value)
        value, surprise = _resolve(text) if event.implicit[0] else (text, None)
        if self._expects_key():
            if surprise or not isinstance(value, str):
                self._report(event, f"the key {_quoted(text)} must be text; write {_in_quotes(text)}.")
            self._take_key(text, event)
            return
        if surprise:
            self._report(event, surprise)
        self._place(value, event)

    def _expects_key(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1].node, dict) and self._open[-1].key is None

    def _refuse_marks(self, event: yaml.Event) -> None:
        anchor, tag = getattr(event, "anchor", None), getattr(event, "tag", None)
        if anchor:
            self._report(event, f"the anchor &{anchor} may not stand here; write the value where it is used.")
        if tag:
            self._report(event, f"the tag {tag} may not stand here; write the value plainly or in quotes.")

    def _take_key(self, key: str, event: yaml.Event) -> None:
        frame = self._open[-1]
        if key in frame.node:
            first = self._lines[(*frame.path, key)]
            self._report(event, f"the key {_quoted(key)} stands twice; the first is in line {first}.")
        frame.key = key
        self._lines[(*frame.path, key)] = self._line(event)

    def _place(self, value: Value, event: yaml.Event) -> NodePath:
        """Puts the value where the next one belongs; gives its path. A mapping's value has its key's line."""
        line = self._line(event)
        if not self._open:
            self._root = value
            self._lines[()] = line
            return ()
        frame = self._open[-1]
        if isinstance(frame.node, list):
            path = (*frame.path, len(frame.node))
            frame.node.append(value)
            self._lines[path] = line
            return path
        key = str(frame.key)
        frame.node[key] = value
        frame.key = None
        return (*frame.path, key)


_WORDS: dict[str, Value] = {"true": True, "false": False, "null": None}
_INTEGER = re.compile(r"(?:0|-?[1-9][0-9]*)\Z")
_NUMERIC = re.compile(r"[-+]?[.]?[0-9][0-9_.:,]*(?:[eE][-+]?[0-9]*)?\Z")
_BASED = re.compile(r"[-+]?0(?:[xX][0-9a-fA-F_]+|[oObB][0-9_]+)\Z")
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:\Z|[Tt \t])")
_NOT_A_NUMBER = re.compile(r"[-+]?[.](?:inf|nan)\Z", re.IGNORECASE)

# Each: the pattern of a plain scalar, and what to say about it.
_SURPRISES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\Z"), "the value is empty; write null, or a value."),
    (re.compile(r"~\Z"), "~ may not stand for null; write null."),
    (
        re.compile(r"(?:true|false)\Z", re.IGNORECASE),
        "{text} may not be a truth value; write {lower}.",
    ),
    (re.compile(r"null\Z", re.IGNORECASE), "{text} may not stand for null; write null."),
    (
        re.compile(r"(?:yes|no|on|off|y|n)\Z", re.IGNORECASE),
        "{text} is a truth value to some readers; write true or false, or {quotes} for the text.",
    ),
    (re.compile(r"<<\Z"), "a merge key << may not stand here; write the values out."),
    (re.compile(r"=\Z"), "a plain = has a meaning of its own to some readers; write {quotes}."),
    (_DATE, "{text} is a date to some readers; write {quotes} for the text."),
    (_BASED, "{text} is a number in another base; write it in decimal, or {quotes} for the text."),
    (
        _NUMERIC,
        "{text} is a different number to each reader; write a decimal integer, or {quotes}.",
    ),
    (_NOT_A_NUMBER, "{text} is not an integer; write an integer, or {quotes} for the text."),
)


def _resolve(text: str) -> tuple[Value, str | None]:
    """The value of a plain scalar, and what is wrong with it."""
    if text in _WORDS:
        return _WORDS[text], None
    if _INTEGER.match(text):
        if len(text) > 20 or abs(int(text)) > MAX_INTEGER:
            return text, f"the integer {_quoted(text)} is too large; write it in quotes."
        return int(text), None
    for pattern, sentence in _SURPRISES:
        if pattern.match(text):
            return text, sentence.format(text=_shown(text), lower=text.lower(), quotes=_in_quotes(text))
    return text, None


def _shown(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"


def _quoted(text: str) -> str:
    return "`" + _shown(text).replace("\n", "\\n") + "`"


def _in_quotes(text: str) -> str:
    return '"' + _shown(text).replace("\n", "\\n") + '"'
