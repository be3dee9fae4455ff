"""What comes out of an attached container: stdout and stderr in frames of one stream.

A frame is one byte that names the stream, three zero bytes, the length as u32 big-endian, and so many bytes.
"""

from __future__ import annotations

from collections.abc import Iterator

STDOUT, STDERR = 1, 2
HEADER = 8


class AttachedOutput:
    """Takes the stream apart, in whatever pieces it comes."""

    def __init__(self) -> None:
        self._stream = 0
        self._left = 0
        self._header = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """What the streams wrote, in order: pieces of STDOUT and STDERR."""
        place = 0
        while place < len(data):
            if self._left:
                piece = data[place : place + self._left]
                self._left -= len(piece)
                place += len(piece)
                yield self._stream, piece
                continue
            lacking = HEADER - len(self._header)
            self._header += data[place : place + lacking]
            place += lacking
            if len(self._header) == HEADER:
                self._stream = self._header[0]
                self._left = int.from_bytes(self._header[4:], "big")
                self._header.clear()
