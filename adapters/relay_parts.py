"""The reference Relay with one of its parts exchanged: what most mutants and variants of a relay come to."""

from __future__ import annotations

from reference_impl.relay.inboxes import Inboxes
from reference_impl.relay.quotas import InboxQuota, PushRates
from reference_impl.relay.relay import Relay
from reference_impl.relay.sessions import Sessions
from reference_impl.relay.settings import SettingsCheck


def with_inboxes(inboxes: type[Inboxes]) -> type[Relay]:
    class Deviating(Relay):
        def create_inboxes(self) -> Inboxes:
            return inboxes(self.store, self.settings)

    return Deviating


def with_sessions(sessions: type[Sessions]) -> type[Relay]:
    class Deviating(Relay):
        def create_sessions(self) -> Sessions:
            return sessions(self.settings)

    return Deviating


def with_quota(quota: type[InboxQuota]) -> type[Relay]:
    class Deviating(Relay):
        def create_quota(self) -> InboxQuota:
            return quota(self.settings)

    return Deviating


def with_rates(rates: type[PushRates]) -> type[Relay]:
    class Deviating(Relay):
        def create_rates(self) -> PushRates:
            return rates(self.settings)

    return Deviating


def with_settings_check(check: type[SettingsCheck]) -> type[Relay]:
    class Deviating(Relay):
        def create_settings_check(self) -> SettingsCheck:
            return check()

    return Deviating
