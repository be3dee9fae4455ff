"""Adapters: from the word behind `--adapter` to a manifest, and from a manifest to a driver that can be started."""

from __future__ import annotations

import importlib
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from conformance import relay_adapter
from conformance.drivers.command_relay import CommandRelay
from conformance.drivers.device_over_tcp import DeviceOverTcpLink
from conformance.drivers.in_process import Boot, InProcessLink
from conformance.drivers.link import Link
from conformance.drivers.live_relay import LiveRelay
from conformance.drivers.process import ProcessLink
from conformance.drivers.relay_manifest import RelayManifest
from conformance.drivers.relay_program import RelayProgram
from conformance.drivers.sandbox import MEBIBYTE, Sandbox
from conformance.drivers.tcp_relay import TcpRelayLink
from conformance.durations import parse_duration
from conformance.schema_faults import SchemaFault, file_schema, nearest
from conformance.strict_yaml import Value, YamlError, load_documents
from conformance.system import Timeouts
from reference_impl.wire.errors import RelayAddressError
from reference_impl.wire.profile import load_profile
from reference_impl.wire.relay_address import SCHEME, RelayAddress, parse

ROLES = ("device", "relay")
BUILT_IN = "adapters"
"""The package that holds the adapters that come with the kit, named and not imported: they stand above the engine."""
Factory = Callable[[str, str], Callable[[], Boot]]
"""Gets a role and the member of a family (empty for an adapter that is none); returns what lays out a new disk."""


class AdapterError(Exception):
    """An adapter that cannot be found, read or started: one sentence that says what, where and what to do."""


class NoStartError(AdapterError):
    """An adapter that was found, and whose driver does not start."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """A manifest. `roles` is empty where the driver itself has to be asked, as with `cmd:`."""

    name: str
    roles: tuple[str, ...]
    driver: str
    folder: Path
    command: tuple[str, ...] = ()
    factory: str = ""
    member: str = ""
    timeouts: Timeouts = field(default_factory=Timeouts)
    envelopes: str = "sealed"
    """`plain` for a state machine without cryptography."""
    waivers: Path | None = None
    wire: str = "draft-1"
    relay: RelayManifest | None = None
    address: RelayAddress | None = None
    sandbox: Sandbox | None = None
    sockets: bool = False
    """`link: tcp`: the device reaches the kit's relay over sockets."""

    def link(self, role: str) -> Link:
        """A driver of this adapter for one role, not yet started. Raises AdapterError."""
        if self.driver == "in_process":
            return InProcessLink(self._factory()(role, self.member))
        if self.driver == "tcp":
            return self._over_tcp()
        if self.sandbox is not None:
            return self._container(self.sandbox, role)
        words = {"{python}": sys.executable, "{role}": role}
        process = ProcessLink([words.get(part, part) for part in self.command], self.folder, self.timeouts.reply)
        if not self.sockets:
            return process
        return DeviceOverTcpLink(process, load_profile(self.wire), plain=self.envelopes == "plain")

    def _over_tcp(self) -> Link:
        return TcpRelayLink(
            self.name,
            self._program(),
            load_profile(self.wire),
            takes_settings=self.relay is not None and bool(self.relay.settings),
            reply_seconds=self.timeouts.reply,
            stop_seconds=self.timeouts.start,
        )

    def _program(self) -> RelayProgram:
        if self.address is not None:
            return LiveRelay(self.address)
        if self.relay is None:
            raise AdapterError(f"adapter {self.name} says neither how its relay is started nor where it is")
        if self.sandbox is not None:
            from conformance.drivers.container_relay import ContainerRelay  # noqa: PLC0415 - loads docker where wanted

            return ContainerRelay(self.relay, self.sandbox, self.timeouts.start)
        return CommandRelay(self.relay, self.folder, self.timeouts.start)

    def _container(self, sandbox: Sandbox, role: str) -> Link:
        from conformance.drivers.container import ContainerLink  # noqa: PLC0415 - loads docker where it is wanted

        command = tuple(role if part == "{role}" else part for part in sandbox.command)
        return ContainerLink(replace(sandbox, command=command), self.timeouts.reply)

    def _factory(self) -> Factory:
        return cast("Factory", self.imported(self.factory.partition(":")[2]))

    def imported(self, name: str) -> object:
        """What the module of this adapter's factory calls `name`. Raises AdapterError."""
        try:
            found: object = getattr(importlib.import_module(self.factory.partition(":")[0]), name)
        except Exception as error:  # noqa: BLE001 - whatever a module does when it is imported
            raise AdapterError(
                f"the factory {self.factory!r} of adapter {self.name} cannot be imported: {error}; "
                "`factory` names a module and a function in it, as module:function"
            ) from None
        return found


def find(word: str, folder: Path) -> Adapter:
    """The adapter of that name, path or shorthand, seen from `folder`. Raises AdapterError."""
    if word.startswith("cmd:"):
        return _from_command(word.removeprefix("cmd:"), folder)
    if word.startswith(SCHEME):
        return _from_address(word, folder)
    if word.startswith("image:"):
        return _from_image(word.removeprefix("image:"), folder)
    try:
        for path in _places(word, folder):
            if path.is_file():
                return read(path)
        member = _family_member(word, folder)
    except (OSError, RuntimeError) as error:  # a name too long, a link to itself
        raise AdapterError(f"--adapter={word[:100]} cannot be looked up: {error}; name a manifest") from None
    if member is not None:
        return member
    raise AdapterError(_not_found(word, folder))


def read(path: Path) -> Adapter:
    """Read a manifest. Raises AdapterError with file, line and reason."""
    try:
        return _read(path)
    except YamlError as error:
        raise AdapterError(f"{error} Mend the manifest; adapters/README.md describes it.") from None


def names(folder: Path) -> list[str]:
    """Every adapter that can be named from `folder`, families with their members."""
    found: set[str] = set()
    for root in _roots(folder):
        for path in root.glob("*.yaml"):
            found.add(path.stem)
        for path in root.glob("*/adapter.yaml"):
            found.add(path.parent.name)
        for path in root.glob("examples/*/adapter.yaml"):
            found.add(f"examples/{path.parent.name}")
        for path in root.glob("*/family.yaml"):
            found.update(f"{path.parent.name}/{member}" for member in members(read(path)))
    return sorted(found)


def members(family: Adapter) -> Mapping[str, tuple[str, ...]]:
    """The members of a family of adapters, each with its roles."""
    listed = cast("Callable[[], Mapping[str, tuple[str, ...]]]", family.imported("members"))
    return listed()


def _read(path: Path) -> Adapter:
    documents = load_documents(path)
    if len(documents) != 1:
        raise AdapterError(f"{path}: a manifest is one YAML document, this file holds {len(documents)}.")
    document = documents[0]
    for fault in _faults(document.value):
        where = ".".join(str(part) for part in fault.node)
        raise YamlError(path, document.line_of(fault.node), f"{where}: {fault.reason}" if where else fault.reason)
    fields = _mapping(document.value)
    folder = path.resolve().parent
    return Adapter(
        name=str(fields["name"]),
        roles=_roles(fields["role"]),
        driver=str(fields["driver"]),
        folder=folder,
        command=tuple(str(part) for part in _list(fields.get("command", []))),
        factory=str(fields.get("factory", "")),
        timeouts=_timeouts(_mapping(fields.get("timeouts", {}))),
        envelopes=str(fields.get("envelopes", "sealed")),
        waivers=_inside(path, folder, fields.get("waivers"), document.line_of(("waivers",))),
        wire=str(fields.get("wire", "draft-1")),
        relay=relay_adapter.manifest(fields) if fields["driver"] == "tcp" else None,
        address=relay_adapter.address(fields),
        sockets=fields.get("link") == "tcp",
        sandbox=_sandbox(fields) if "image" in fields and fields["driver"] in ("container", "tcp") else None,
    )


def _faults(value: Value) -> Iterator[SchemaFault]:
    """What the schema finds; what it cannot say is looked for only once it is content."""
    yield from file_schema("adapter.json").faults(value)
    yield from relay_adapter.faults(_mapping(value))


def _sandbox(fields: Mapping[str, Value]) -> Sandbox:
    command = tuple(str(part) for part in _list(fields.get("command", [])))
    default = Sandbox("")
    return Sandbox(
        str(fields["image"]),
        command,
        memory=_mebibytes(str(fields["memory"])) if "memory" in fields else default.memory,
        pids=int(str(fields.get("pids", default.pids))),
        writable=fields.get("writable") is True,
    )


def _mebibytes(text: str) -> int:
    """Bytes, of what the schema lets pass: `256MiB` or `1GiB`."""
    number, unit = int(text[:-3]), text[-3:]
    return number * MEBIBYTE * (1024 if unit == "GiB" else 1)


def _from_command(text: str, folder: Path) -> Adapter:
    try:
        command = tuple(shlex.split(text))
    except ValueError as error:
        raise AdapterError(f"--adapter=cmd:{text}: {error}; quote the command as a shell would need it") from None
    if not command:
        raise AdapterError('--adapter=cmd: needs a command, such as --adapter=cmd:"node driver.mjs"')
    return Adapter(name=command[0], roles=(), driver="process", folder=folder, command=command)


def _from_address(word: str, folder: Path) -> Adapter:
    """A relay that runs already. Its Relay Address says no more than where it is: the wire is the default."""
    try:
        address = parse(word)
    except RelayAddressError as error:
        raise AdapterError(f"--adapter={word[:200]}: {error}") from None
    return Adapter(name="live-relay", roles=("relay",), driver="tcp", folder=folder, address=address)


def _from_image(image: str, folder: Path) -> Adapter:
    if not image:
        raise AdapterError("--adapter=image: needs the name of an image, such as --adapter=image:mysdk:latest")
    return Adapter(name=image, roles=(), driver="container", folder=folder, sandbox=Sandbox(image))


def _places(word: str, folder: Path) -> Iterator[Path]:
    given = folder / word
    yield given
    yield given / "adapter.yaml"
    for root in _roots(folder):
        if _is_inside(root, root / word):
            yield root / f"{word}.yaml"
            yield root / word / "adapter.yaml"


def _roots(folder: Path) -> list[Path]:
    own = folder / "adapters"
    package = importlib.import_module(BUILT_IN)
    built_in = [Path(place) for place in package.__path__]
    return [own, *(place for place in built_in if place.resolve() != own.resolve())]


def _family_member(word: str, folder: Path) -> Adapter | None:
    family, _, member = word.partition("/")
    for root in _roots(folder):
        path = root / family / "family.yaml"
        if not member or not _is_inside(root, path) or not path.is_file():
            continue
        adapter = read(path)
        roles = members(adapter).get(member)
        if roles is not None:
            return Adapter(
                name=word,
                roles=roles,
                driver=adapter.driver,
                folder=adapter.folder,
                factory=adapter.factory,
                member=member,
                timeouts=adapter.timeouts,
                envelopes=adapter.envelopes,
            )
    return None


def _not_found(word: str, folder: Path) -> str:
    known = names(folder)
    simple = ", ".join(name for name in known if "/" not in name)
    return (
        f"there is no adapter {word!r}: neither a manifest of that path, nor adapters/{word}.yaml, nor "
        f"adapters/{word}/adapter.yaml{nearest(word, known)}. The kit comes with: {simple}."
    )


def _inside(path: Path, folder: Path, value: Value, line: int) -> Path | None:
    """A file that a manifest names; it must lie in the manifest's own folder."""
    if not isinstance(value, str):
        return None
    target = (folder / value).resolve()
    if not _is_inside(folder, target):
        raise YamlError(path, line, f"waivers: {value!r} leaves the folder of the manifest; keep the file beside it.")
    return target


def _is_inside(folder: Path, path: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def _roles(value: Value) -> tuple[str, ...]:
    return tuple(str(role) for role in value) if isinstance(value, list) else (str(value),)


def _timeouts(fields: Mapping[str, Value]) -> Timeouts:
    default = Timeouts()
    return Timeouts(**{name: _seconds(fields, name, getattr(default, name)) for name in ("reply", "start", "case")})


def _seconds(fields: Mapping[str, Value], name: str, default: float) -> float:
    return parse_duration(str(fields[name])) / 1000 if name in fields else default


def _mapping(value: Value) -> dict[str, Value]:
    return value if isinstance(value, dict) else {}


def _list(value: Value) -> list[Value]:
    return value if isinstance(value, list) else []
