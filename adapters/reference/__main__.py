"""`python -m adapters.reference device|relay`: a reference implementation as a driver program."""

from __future__ import annotations

import sys
from collections.abc import Callable

from adapters.reference.disk import FolderDisk
from adapters.stdio import Driver, serve


def device() -> Driver:
    from adapters.reference.device_driver import DeviceDriver  # noqa: PLC0415 - loads its role only
    from reference_impl.device.sqlite_store import SqliteStore  # noqa: PLC0415

    return DeviceDriver(FolderDisk(SqliteStore))


def relay() -> Driver:
    from adapters.reference.relay_driver import RelayDriver  # noqa: PLC0415 - loads its role only
    from reference_impl.relay.store import SqliteStore  # noqa: PLC0415

    return RelayDriver(FolderDisk(SqliteStore))


DRIVERS: dict[str, Callable[[], Driver]] = {"device": device, "relay": relay}


def main(arguments: list[str]) -> int:
    """Serve until stdin ends. 2 where the arguments do not name a role."""
    if len(arguments) != 1 or arguments[0] not in DRIVERS:
        sys.stderr.write("Usage: python -m adapters.reference device|relay. Name one of the two roles.\n")
        return 2
    serve(DRIVERS[arguments[0]]())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
