"""The roles that this kit can judge, each registered by its spec."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.delivery.device import DEVICE
from conformance.delivery.relay import RELAY
from conformance.engine.world import Role

ROLES: Mapping[str, Role] = {role.name: role for role in (DEVICE, RELAY)}
