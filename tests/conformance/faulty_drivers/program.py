"""`python program.py FAULT`: a driver with one fault, by its name in `faults.py`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # started by its path, from any folder

from tests.conformance.faulty_drivers.faults import FAULTS, START_FAULTS, remember, write
from tests.conformance.faulty_drivers.well_behaved import Device


def main(name: str) -> None:
    remember(os.getpid())
    device = Device()
    for line in sys.stdin.buffer:
        message = json.loads(line)
        good = device.handle(message)
        if name in START_FAULTS:
            START_FAULTS[name](device, message, good)
        elif device.armed:
            FAULTS[name](device, message, good)
        else:
            write(good)


if __name__ == "__main__":
    main(sys.argv[1])
