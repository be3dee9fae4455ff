"""Answers `GET /healthz` with 200 and everything else with 404, then closes."""

from __future__ import annotations

import asyncio

LONGEST_REQUEST = 8192
END_OF_REQUEST = b"\r\n\r\n"


class Health(asyncio.Protocol):
    """One connection to the health listener. It listens only while the relay is ready, so the answer is always yes."""

    def __init__(self) -> None:
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
        status = b"200 OK" if found else b"404 Not Found"
        self._transport.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        self._transport.close()
