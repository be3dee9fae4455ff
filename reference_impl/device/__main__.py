"""`python -m reference_impl.device`: the reference Device as a program."""

from __future__ import annotations

import sys

from reference_impl.device.program import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
