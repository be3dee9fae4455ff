"""Lines of JSON as a driver writes them to its stdout: gathered from pieces, bounded, and read strictly."""

from __future__ import annotations

import json
import re
from collections import deque

from conformance.outcome import DriverError
from reference_impl.wire.json_types import Json, JsonObject

MAX_LINE = 16 * 1024 * 1024
MAX_BACKLOG = 64 * 1024 * 1024
MAX_DEPTH = 64


class JsonLines:
    """What came from a driver's stdout. True while a whole line waits to be taken."""

    def __init__(self) -> None:
        self._incoming = bytearray()
        self._searched = 0
        self._lines: deque[bytes] = deque()
        self._backlog = 0

    def __bool__(self) -> bool:
        return bool(self._lines)

    def feed(self, data: bytes) -> None:
        """Add what was read. Raises DriverError if a line becomes longer than MAX_LINE."""
        self._incoming += data
        end = self._incoming.rfind(b"\n", self._searched)
        if end < 0:
            self._searched = len(self._incoming)
            if self._searched > MAX_LINE:
                raise DriverError(
                    f"the driver wrote more than {MAX_LINE // 1024 // 1024} MiB without a line end to stdout; "
                    "a message is one line of JSON"
                )
            return
        self._lines.extend(bytes(self._incoming[:end]).split(b"\n"))
        self._backlog += end
        del self._incoming[: end + 1]
        self._searched = 0

    def take(self) -> Json:
        """The next line as JSON. Raises DriverError if it is no message."""
        line = self._lines.popleft()
        self._backlog -= len(line)
        return parse(line)

    def check_backlog(self) -> None:
        """Raises DriverError if the driver wrote more than anybody waits for."""
        if self._backlog > MAX_BACKLOG:
            raise DriverError(
                f"the driver wrote {MAX_BACKLOG // 1024 // 1024} MiB to stdout without reading its stdin; "
                "a driver must go on reading while it writes"
            )

    def clear(self) -> None:
        self._incoming.clear()
        self._searched = 0
        self._lines.clear()
        self._backlog = 0


def encode(message: JsonObject) -> bytes:
    """One message as a line of its own."""
    return _ENCODE(message).encode("ascii") + b"\n"


def parse(line: bytes) -> Json:
    """Read one line strictly: what readers of JSON disagree about is refused, with a sentence that says what it is."""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _no_message(line, f"is not UTF-8 at byte {error.start + 1}") from None
    if text.count("{") + text.count("[") > MAX_DEPTH and _depth(text) > MAX_DEPTH:
        raise _no_message(line, f"nests deeper than {MAX_DEPTH} levels")
    try:
        message: Json = _DECODER.decode(text)
    except _AmbiguousError as error:
        raise _no_message(line, str(error)) from None
    except json.JSONDecodeError:
        raise _no_message(line, "is not JSON") from None
    except ValueError:
        raise _no_message(line, "holds a number that is too long") from None
    if "\\ud" in text.lower() and not _is_encodable(message):
        raise _no_message(line, "holds half of a surrogate pair")
    return message


def _no_message(line: bytes, what: str) -> DriverError:
    shown = line[:120].decode("utf-8", "backslashreplace")
    return DriverError(
        f"the driver wrote a line to stdout that {what}: `{shown}`; "
        "write one JSON message a line there, and log to stderr"
    )


class _AmbiguousError(ValueError):
    """JSON that two readers may read differently."""


def _object(pairs: list[tuple[str, Json]]) -> JsonObject:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _AmbiguousError(f"has the field {twice!r} twice in one object")
    return fields


def _no_number(word: str) -> Json:
    raise _AmbiguousError(f"holds {word}, which is no JSON number")


# Both made once: json.dumps and json.loads would make them anew for each message.
_ENCODE = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_number)
_TEXTS = re.compile(r'"(?:[^"\\]|\\.)*"')


def _depth(text: str) -> int:
    depth = deepest = 0
    for character in _TEXTS.sub("", text):
        if character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth -= 1
    return deepest


def _is_encodable(message: Json) -> bool:
    try:
        json.dumps(message, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
