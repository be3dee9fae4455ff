"""`python -m reference_impl.relay`: the reference Relay as a program."""

from __future__ import annotations

import os
import sys

from reference_impl.relay.program import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
