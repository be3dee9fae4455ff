"""Where the data of the kit lies: beside the code in a checkout, inside the package once it is installed."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
# Inside the package first: beside it, in an installation, another distribution may have a folder of that name.
_PLACES = (_PACKAGE / "vectors", _PACKAGE.parent / "vectors")


@cache
def vectors_root() -> Path:
    """The folder that holds `schema/`, `spec/` and the vectors."""
    for place in _PLACES:
        if (place / "schema").is_dir():
            return place
    places = " nor at ".join(str(place) for place in _PLACES)
    raise FileNotFoundError(f"The kit's vectors are neither at {places}; install the kit again.")
