"""Wire profiles: which bytes are spoken. Each is one file, `vectors/spec/wire-NAME.yaml`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import yaml

from reference_impl.wire.errors import ProfileError
from reference_impl.wire.json_types import Json

_ROOMS = Path(__file__).resolve().parents[2]
# In a wheel the data lies inside the package of the kit, in a checkout beside the code.
_PLACES = (_ROOMS / "conformance" / "vectors" / "spec", _ROOMS / "vectors" / "spec")
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")

GENERIC = "generic"


@dataclass(frozen=True, slots=True)
class WireProfile:
    """What two sides of a session must agree on beyond the frames.

    `magic` is empty without a version prefix. `reasons` maps each refusal code to the byte in an Error frame, and is
    empty where a profile tells none. `inexpressible` maps clause ids to why the profile leaves nothing to judge by.
    """

    name: str
    version_prefix: bool
    magic: bytes
    transport_version_min: int
    transport_version_max: int
    reasons: Mapping[str, int]
    permanent: frozenset[str]
    unknown_frames: Literal["error", "drop"]
    heartbeats_begun_by: Literal["device", "either"]
    inexpressible: Mapping[str, str]

    @property
    def prefix_bytes(self) -> int:
        """The length of the version prefix, 0 without one."""
        return len(self.magic) + 2 if self.version_prefix else 0

    def reason_byte(self, code: str) -> int | None:
        """The byte of a refusal code, `None` where the profile tells no reasons. Raises ProfileError."""
        if not self.reasons:
            return None
        if code not in self.reasons:
            raise ProfileError(
                f"{code} is no refusal code of the wire profile {self.name}; use {_listed(self.reasons)}."
            )
        return self.reasons[code]

    def code_of(self, byte: int) -> str:
        """The refusal code of a reason byte. Raises ProfileError for a byte without a meaning."""
        for code, known in self.reasons.items():
            if known == byte:
                return code
        raise ProfileError(f"0x{byte:02x} is no error reason of the wire profile {self.name}.")

    def error_body(self, code: str) -> bytes:
        """The body of the Error frame for a refusal code: one byte, or none where the profile tells no reasons."""
        byte = self.reason_byte(code)
        return b"" if byte is None else bytes((byte,))

    def code_of_body(self, body: bytes) -> str:
        """The refusal code that the body of an Error frame tells. Raises ProfileError."""
        if not self.reasons:
            return GENERIC
        if len(body) != 1:
            raise ProfileError(
                f"An Error frame of the wire profile {self.name} has one byte of reason, not {len(body)}."
            )
        return self.code_of(body[0])


@cache
def load_profile(name: str) -> WireProfile:
    """Read the profile of that name, such as `draft-1`. Raises ProfileError if there is none."""
    path = next((place / f"wire-{name}.yaml" for place in _PLACES if (place / f"wire-{name}.yaml").is_file()), None)
    if path is None or _NAME.fullmatch(name) is None:
        raise ProfileError(f"There is no wire profile {name!r}; there are {_listed(profile_names())}.")
    fields: Json = yaml.safe_load(path.read_text(encoding="utf-8"))
    return _profile(_mapping(fields))


def profile_names() -> list[str]:
    """The names of all profiles, in alphabetical order."""
    found = {path.stem.removeprefix("wire-") for place in _PLACES for path in place.glob("wire-*.yaml")}
    return sorted(found)


def _profile(fields: Mapping[str, Json]) -> WireProfile:
    prefix, frames = _mapping(fields["version_prefix"]), _mapping(fields["frames"])
    spoken = _mapping(prefix.get("transport_version", {"min": 1, "max": 1}))
    reasons = [_mapping(entry) for entry in _list(fields["error_reasons"])]
    return WireProfile(
        name=str(fields["name"]),
        version_prefix=prefix["present"] is True,
        magic=bytes.fromhex(str(prefix.get("magic", ""))),
        transport_version_min=int(str(spoken["min"])),
        transport_version_max=int(str(spoken["max"])),
        reasons={str(entry["code"]): int(str(entry["byte"]), 16) for entry in reasons},
        permanent=frozenset(str(entry["code"]) for entry in reasons if entry.get("lasts") == "permanent"),
        unknown_frames="error" if frames["unknown"] == "error" else "drop",
        heartbeats_begun_by="device" if frames["heartbeats_begun_by"] == "device" else "either",
        inexpressible={
            str(entry["clause"]): str(entry["because"]) for entry in map(_mapping, _list(fields["inexpressible"]))
        },
    )


def _mapping(value: Json) -> Mapping[str, Json]:
    if not isinstance(value, Mapping):
        raise ProfileError(
            "A wire profile has a value where a mapping belongs; `python -m conformance lint` says where."
        )
    return value


def _list(value: Json) -> Sequence[Json]:
    if not isinstance(value, list):
        raise ProfileError("A wire profile has a value where a list belongs; `python -m conformance lint` says where.")
    return value


def _listed(words: Mapping[str, int] | Sequence[str]) -> str:
    return ", ".join(words)
