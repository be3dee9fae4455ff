"""Free ports of the loopback interface for a program that cannot be told to choose its own."""

from __future__ import annotations

import random
import socket

LOOPBACK = "127.0.0.1"
# Below the ephemeral ports, so that no outgoing connection takes one between the choice and the start.
_RANGE = range(10_240, 32_768)
_TRIES = 1_000
_chance = random.SystemRandom()


def free_ports(count: int) -> list[int]:
    """So many ports that nobody listens on. Somebody may before they are used: see `all_free`, and choose again."""
    found: list[int] = []
    for _ in range(_TRIES):
        port = _chance.choice(_RANGE)
        if port not in found and is_free(port):
            found.append(port)
        if len(found) == count:
            return found
    raise OSError(f"no {count} free ports on {LOOPBACK}")


def is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As servers do, so that connections that linger from a case before are no obstacle.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True
