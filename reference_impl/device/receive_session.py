"""The Receive Session: when one is asked for, and which one is open."""

from __future__ import annotations

from reference_impl.device.backoff import Backoff
from reference_impl.device.connection import ConnectionTracker
from reference_impl.device.context import Context
from reference_impl.device.effects import Lost, Opened, OpenReceiveSession, SessionAnswer, Unsupported
from reference_impl.device.session_state import SessionState


class ReceiveSession:
    """One at a time. `current` is its name, `wanted` says that there is a handler to receive for."""

    backoff_class: type[Backoff] = Backoff

    def __init__(self, context: Context, state: SessionState, connection: ConnectionTracker) -> None:
        self._context = context
        self._state = state
        self._connection = connection
        self._opening: int | None = None
        self._retry_at: int | None = None
        self._backoff = self.make_backoff()
        self.current: str | None = None
        self.wanted = False

    def may_open(self) -> bool:
        """Nothing is pulled before there is a handler (RCV-001)."""
        return self.wanted and self._connection.usable

    def open(self) -> None:
        """Ask for a session where there is none and one may be had."""
        if self._opening is not None or self.current is not None or not self.may_open():
            return
        self._retry_at = None
        self._opening = self._context.next_request()
        version = self._context.transport_version
        self._context.emit(OpenReceiveSession(self._opening, self._state.me.noise_pub, version))

    def answered(self, request: int, answer: SessionAnswer) -> None:
        """An answer to a request that is not waited for any more changes nothing."""
        if request != self._opening:
            return
        self._opening = None
        match answer:
            case Opened(session=session):
                self.current = session
                self._backoff.reset()
            case Lost():
                self._retry_at = self._context.now + self._backoff.next_delay()
            case Unsupported(minimum=minimum, maximum=maximum):
                self._connection.unsupported(minimum, maximum)

    def connected(self) -> None:
        self._backoff.reset()
        self.open()

    def ended(self) -> None:
        """The session is gone, and so is an answer that is still to come."""
        self._opening = self.current = self._retry_at = None

    def tick(self) -> None:
        if self._retry_at is not None and self._retry_at <= self._context.now:
            self.open()

    def next_timer(self) -> int | None:
        """When a session is asked for again, in Unix ms."""
        return self._retry_at if self.may_open() else None

    def make_backoff(self) -> Backoff:
        """Like that of pushes."""
        limits = self._context.limits
        return self.backoff_class(limits.push_backoff_first, limits.push_backoff_factor, limits.push_backoff_max)
