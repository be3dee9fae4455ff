"""Answers `GET /healthz` with 200, or 503 if the store cannot be read, everything else with 404, then closes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

LONGEST_REQUEST = 8192
END_OF_REQUEST = b"\r\n\r\n"


class Health(asyncio.Protocol):
    """One connection to the health listener, which listens only while the relay is ready."""

    def __init__(self, is_healthy: Callable[[], bool]) -> None:
        self._is_healthy = is_healthy
        self._request = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._request += data
        if self._transport is None or (END_OF_REQUEST not in self._request and len(self._request) < LONGEST_REQUEST):
            return
        found = self._request.startswith((b"GET /healthz HTTP/", b"HEAD /healthz HTTP/"))
        self._transport.write(
            b"HTTP/1.1 " + self._status(found) + b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
        self._transport.close()

    def _status(self, found: bool) -> bytes:
        if not found:
            return b"404 Not Found"
        return b"200 OK" if self._is_healthy() else b"503 Service Unavailable"
