"""`python -m adapters.relay_program FAMILY/MEMBER FLAGS`: a relay that deviates, as a program over TCP.

FAMILY is `mutants` or `variants`, MEMBER one of its relays; the flags are those of `python -m reference_impl.relay`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import cache

from adapters.deviation import Deviation
from adapters.mutants.registry import MUTANTS, PROGRAM_MUTANTS
from adapters.program_deviation import with_relay
from adapters.variants import relay_program as variant_programs
from adapters.variants.registry import VARIANTS
from reference_impl.relay.program import RelayProgram, main
from reference_impl.relay.relay import Relay


@cache
def programs() -> Mapping[str, type[RelayProgram]]:
    """Every deviating relay program by `FAMILY/MEMBER`."""
    found = {f"mutants/{each.name}": each.program for each in PROGRAM_MUTANTS}
    found |= {f"variants/{each.name}": each.program for each in variant_programs.VARIANTS}
    families: Mapping[str, Sequence[Deviation]] = {"mutants": MUTANTS, "variants": VARIANTS}
    for family, members in families.items():
        for each in members:
            if issubclass(each.system, Relay):
                found[f"{family}/{each.name}"] = with_relay(each.system)
    return found


def start(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run the program that the first argument names. Returns the exit status, 2 for a name that does not exist."""
    name = arguments[0] if arguments else ""
    program = programs().get(name)
    if program is None:
        known = "\n  ".join(sorted(programs()))
        sys.stderr.write(f"There is no relay program {name!r}; give FAMILY/MEMBER, one of:\n  {known}\n")
        return 2
    return main(arguments[1:], environment, program)


if __name__ == "__main__":
    sys.exit(start(sys.argv[1:], os.environ))
