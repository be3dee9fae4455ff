"""The reference without a process of its own: what the manifest's `factory` names."""

from __future__ import annotations

from collections.abc import Callable

from adapters.reference.codec_calls import CodecCalls
from adapters.reference.device_driver import DeviceDriver
from adapters.reference.disk import MemoryDisk
from adapters.reference.relay_driver import RelayDriver
from adapters.stdio import Driver
from reference_impl.device.device import Device
from reference_impl.device.memory_store import MemoryStore as DeviceStore
from reference_impl.relay.relay import Relay
from reference_impl.relay.store import MemoryStore as RelayStore

Boot = Callable[[], Driver]


def boot_device(device_class: type[Device]) -> Callable[[], Boot]:
    """What lays out an empty disk and returns what starts a driver on it, again after each kill."""

    def new_disk() -> Boot:
        disk = MemoryDisk(DeviceStore)
        return lambda: DeviceDriver(disk, device_class)

    return new_disk


def boot_relay(relay_class: type[Relay], codec_class: type[CodecCalls] = CodecCalls) -> Callable[[], Boot]:
    """The same for a relay."""

    def new_disk() -> Boot:
        disk = MemoryDisk(RelayStore)
        return lambda: RelayDriver(disk, relay_class, codec_class)

    return new_disk


def reference(role: str, member: str) -> Callable[[], Boot]:  # noqa: ARG001 - the reference is no family
    return boot_device(Device) if role == "device" else boot_relay(Relay)
