"""One TCP connection of the kit's own, which never blocks: what does not fit waits here."""

from __future__ import annotations

import contextlib
import select
import socket
import struct

from conformance.outcome import DriverError

READ_SIZE = 256 * 1024
LINGER_NOT = struct.pack("ii", 1, 0)
SMALL_BUFFER = 1


class RefusedError(DriverError):
    """Nobody takes the connection."""


class Channel:
    """`closed` is how the other side ended it: `fin`, `reset`, or empty."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._outgoing = bytearray()
        self._shut = self._shutting = False
        self._paused = False
        self.closed = ""

    @classmethod
    def connect(cls, host: str, port: int, seconds: float) -> Channel:
        """Connect within so many seconds. Raises RefusedError if nobody listens, DriverError if nobody answers."""
        try:
            return cls(socket.create_connection((host, port), seconds))
        except ConnectionRefusedError:
            raise RefusedError(f"nothing listens at {host}:{port}") from None
        except OSError as error:
            raise DriverError(f"{host}:{port} cannot be reached: {error.strerror or error}") from None

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def events(self) -> int:
        """What to poll for."""
        reading = 0 if self._paused or self.closed else select.POLLIN
        return reading | (select.POLLOUT if self._outgoing else 0)

    def write(self, data: bytes) -> bool:
        """Send as much as fits at once; `flush` sends the rest. To a connection that is over nothing is sent."""
        if self._shutting or self.closed:
            return False
        self._outgoing += data
        return self.flush()

    def flush(self) -> bool:
        """Send what waits. Whether anything could be sent."""
        sent = 0
        try:
            while self._outgoing:
                taken = self._socket.send(self._outgoing)
                del self._outgoing[:taken]
                sent += taken
        except BlockingIOError:
            return sent > 0
        except OSError:
            self._outgoing.clear()
            self._shut = True
        if self._shutting and not self._shut:
            self._shut = True
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_WR)
        return sent > 0

    def read(self) -> bytes:
        """What has come; nothing if there is nothing, or if the other side has ended it: see `closed`."""
        try:
            data = self._socket.recv(READ_SIZE)
        except BlockingIOError:
            return b""
        except OSError:
            self.closed = "reset"
            return b""
        if not data:
            self.closed = "fin"
        return data

    def pause(self) -> None:
        """Read nothing any more, and let little wait unread."""
        self._paused = True
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)

    def shut(self) -> None:
        """Send nothing after what waits, and say so; the other side may go on."""
        self._shutting = True
        self.flush()

    def vanish(self) -> None:
        """Neither read nor send any more, without a word."""
        self._paused = self._shutting = self._shut = True
        self._outgoing.clear()

    def reset(self) -> None:
        """End it with RST."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NOT)
        self._socket.close()

    def close(self) -> None:
        self._socket.close()
