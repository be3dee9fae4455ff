"""`python -m tests.sockets.device_program NAME`: a mutant of the device on its sockets, as a driver."""

from __future__ import annotations

import sys

from adapters.mutants import device_sockets
from adapters.reference.device_over_tcp import serve
from adapters.reference.disk import FolderDisk
from reference_impl.device.sqlite_store import SqliteStore

if __name__ == "__main__":
    programs = {each.name: each.program for each in device_sockets.MUTANTS}
    sys.exit(serve(programs[sys.argv[1]](FolderDisk(SqliteStore))))
