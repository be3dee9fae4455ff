"""Pairing, both sides: the Pairing Window of the device that admits, the Pending Join of the one that joins."""

from __future__ import annotations

from functools import partial
from typing import Final

from reference_impl.device.context import Context
from reference_impl.device.effects import JoinRequest, StatusChanged, Unauthorized, Unreadable
from reference_impl.device.errors import ApiError, group_full
from reference_impl.device.identity import name_of
from reference_impl.device.membership import Membership
from reference_impl.device.notices import Notices
from reference_impl.device.outbox import Outbox
from reference_impl.device.session_state import SessionState
from reference_impl.device.store import Kind
from reference_impl.device.verdicts import Apply, Drop, Verdict
from reference_impl.wire.content import Content, MalformedError, Member, Pair, PairingToken

SECRET_BYTES = 32
PAIRS: Final[frozenset[Kind]] = frozenset(("pair",))


class Pairing:
    """The window and its requests live in memory: a restart closes it and spends the secret (ADR-0023)."""

    def __init__(
        self,
        context: Context,
        state: SessionState,
        notices: Notices,
        outbox: Outbox,
        membership: Membership,
    ) -> None:
        self._context = context
        self._state = state
        self._notices = notices
        self._outbox = outbox
        self._membership = membership
        self._secret: str | None = None
        self._requests: dict[str, Member] = {}

    # Admitting

    def start_pairing(self) -> str:
        """Open the window under a new secret, and return the Pairing Token."""
        self.close_window()
        self._secret = self._context.random_bytes(SECRET_BYTES).hex()
        me = self._state.me
        return self._context.codec.encode_token(PairingToken(me.noise_pub, me.signing_pub, self._secret))

    def close_window(self) -> None:
        self._secret = None
        self._requests.clear()

    def judge_pair(self, content: Content, _version: int) -> Verdict:
        """A Pair counts under the open window's secret, from the keys it names; repeats are one request."""
        try:
            pair = self._context.codec.decode_pair(content.body)
        except MalformedError:
            return Drop(Unreadable("malformed"))
        if not self.is_admissible(content, pair):
            return Drop(Unauthorized())
        if pair.signing_pub in self._requests or self._state.member(pair.signing_pub) is not None:
            return Drop(None)
        return Apply(partial(self.add_request, pair))

    def is_admissible(self, content: Content, pair: Pair) -> bool:
        return (
            self._secret is not None
            and self.may_admit()
            and pair.signing_pub == content.author_pub
            and self._context.codec.proves(pair, self._secret)
        )

    def may_admit(self) -> bool:
        """Not on the way out of the group."""
        return self._state.status not in ("leaving", "destroying")

    def add_request(self, pair: Pair) -> None:
        joiner = Member(pair.noise_pub, pair.signing_pub, name_of(pair.signing_pub))
        self._requests[joiner.signing_pub] = joiner
        self._notices.event(JoinRequest(self.request_id(joiner.signing_pub), joiner.name))

    def request_id(self, signing_pub: str) -> str:
        """What the app calls a request by. It is opaque to the app."""
        return signing_pub

    def accept(self, request: str) -> None:
        """Admit one request, which closes the window. A device without a group creates it here."""
        joiner = self._requests.get(request)
        if joiner is None or not self.may_admit():
            raise ApiError("pairingClosed")
        members = self._membership.members()
        if len(members) >= self._context.limits.group_size:
            raise group_full(self._context.limits.group_size)
        created = self._state.manifest is None
        self.drop_own_join()
        self._membership.issue_manifest((*members, joiner))
        self.close_window()
        if created:
            self._notices.event(StatusChanged("member", "created"))
        self._membership.announce_members()
        self._outbox.pump()

    # Joining

    def join(self, text: str) -> None:
        """Keep the Pending Join and queue the Pair, in one commit. A later join replaces an earlier one."""
        if self._state.manifest is not None:
            raise ApiError("alreadyInGroup")
        token = self.read_token(text)
        me = self._state.me
        changed = self._state.status != "pendingJoin"
        with self._context.store.transaction():
            gone = self._outbox.discard(PAIRS)
            self._state.update_status("pendingJoin", pending_join=text)
            body = self._context.codec.encode_pair(me.noise_pub, me.signing_pub, token.secret)
            entries = self._outbox.send("pair", [token.noise_pub], body)
        self._outbox.forget(gone)
        self._outbox.queue(entries)
        if changed:
            self._notices.event(StatusChanged("pendingJoin", None))
        self._outbox.pump()

    def read_token(self, text: str) -> PairingToken:
        """Fails with `invalidPairingToken` where it cannot be read, or is this device's own."""
        try:
            token = self._context.codec.decode_token(text)
        except MalformedError:
            raise ApiError("invalidPairingToken") from None
        if token.signing_pub == self._state.me.signing_pub:
            raise ApiError("invalidPairingToken")
        return token

    def cancel_join(self) -> None:
        if self._state.status == "pendingJoin":
            self.drop_own_join()
            self._notices.event(StatusChanged("notJoined", None))

    def drop_own_join(self) -> None:
        """End the Pending Join, and the Pair that is still to be pushed with it."""
        if self._state.status != "pendingJoin":
            return
        with self._context.store.transaction():
            gone = self._outbox.discard(PAIRS)
            self._state.update_status("notJoined")
        self._outbox.forget(gone)
