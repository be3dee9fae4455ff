"""Whether a relay that was started is ready: asked again and again while what it prints is heard."""

from __future__ import annotations

import http.client
import socket
from urllib.parse import urlsplit

from conformance.drivers.relay_ports import LOOPBACK

PROBE_SECONDS = 1.0
OK = 200


def answers_ok(url: str) -> bool:
    """Whether a GET of this http URL is answered with 200."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or LOOPBACK, parts.port, timeout=PROBE_SECONDS)
    try:
        connection.request("GET", parts.path or "/")
        return connection.getresponse().status == OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def accepts(port: int) -> bool:
    """Whether somebody listens there."""
    try:
        with socket.create_connection((LOOPBACK, port), PROBE_SECONDS):
            return True
    except OSError:
        return False
