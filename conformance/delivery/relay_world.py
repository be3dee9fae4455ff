"""The world around a relay under test: its life, the sessions of the devices that the kit plays, and the record."""

from __future__ import annotations

import base64
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from conformance.delivery.life import EPOCH, ClockMoved, Killed
from conformance.delivery.relay_connection_records import ConnectionClosed, Established, HeartbeatCame
from conformance.delivery.relay_connections import Bare, Connections
from conformance.delivery.relay_devices import devices
from conformance.delivery.relay_pushes import Push, Pushes, State
from conformance.delivery.relay_records import (
    RELAY,
    BlobDelivered,
    CrashArmed,
    DeliverAcked,
    PushAnswered,
    Pushed,
    ReceiveSessionLeft,
    ReceiveSessionOpened,
    SessionEnded,
    Started,
    Stopped,
    StoreSwitched,
)
from conformance.engine.argument import Argument
from conformance.engine.record import Record
from conformance.outcome import ApiError, DriverDiedError, DriverError, SpecBrokenError, VectorError
from conformance.system import Call, System
from conformance.vector import Case
from reference_impl.wire.json_types import Json, JsonObject

DEFAULT_PUSH_SESSION = "the Push Session"
UNTYPED = "untyped"
"""The code of a refusal where the wire profile tells none: it may be any."""
DURATIONS = frozenset(("ttl", "handshake_deadline", "push_session_deadline", "idle_close", "shutdown_drain"))
"""The settings that a vector gives as durations."""


@dataclass(slots=True)
class ReceiveSession:
    """One Receive Session. `label` is the vector's name for it.

    `problem` is why it is not open: `left` by the device, `ended` by the relay, `gone` with the relay itself.
    """

    label: str
    name: str
    device: str
    problem: str = ""


class RelayWorld:
    """One run of one vector against a relay."""

    epoch = EPOCH
    lives = 1
    """Only the sweep of a device needs to know."""

    def __init__(self, case: Case, system: System, data_folder: str) -> None:
        self.case = case
        self.system = system
        self.history: list[Record] = []
        self.observed: list[Record] = []
        self.step = 0
        self.pushes = Pushes()
        self.devices = devices(secrets.token_hex(16) if system.is_live else "")
        self.sessions: dict[str, ReceiveSession] = {}
        self.open_now = False
        self._now = EPOCH
        self._data_folder = data_folder
        self._settings: dict[str, Json] = {}
        self._opened_before = False
        self._settled = 0
        self._expects_death = False
        self._by_name: dict[str, ReceiveSession] = {}
        self._push_sessions: dict[str, str] = {}
        self._opening = False
        self._early: list[Call] = []
        self.connections = Connections(self)
        self._incoming: Mapping[str, Callable[[Call], None]] = {
            "deliver": self._deliver,
            "session.closed": self._session_closed,
            "connection.data": self.connections.data,
            "connection.closed": self.connections.closed,
        }

    # -- time and quiet -----------------------------------------------------------------------------------------

    @property
    def now(self) -> int:
        return self._now

    @property
    def at(self) -> int:
        """Time since the start, in ms."""
        return self._now - EPOCH

    def settle(self) -> int | None:
        if not self.open_now:
            return None
        try:
            timer = self.system.settle() or self.system.timer_at(self._now)
        except DriverDiedError:
            self.died()
            return None
        self._settled = len(self.history)
        return timer

    @property
    def patience(self) -> float:
        return self.system.patience

    def await_more(self, seconds: float) -> bool:
        if seconds <= 0 or not self.open_now:
            return False
        try:
            return self.system.await_more(seconds)
        except DriverDiedError:
            self.died()
            return True

    def move_clock(self, now: int) -> None:
        by = now - self._now
        self.record(ClockMoved(at=self.at, step=self.step, by=by))
        self._now = now
        if self.open_now:
            try:
                self.system.advance(now, by)
            except DriverDiedError:
                self.died()
        self.settle()

    # -- life ---------------------------------------------------------------------------------------------------

    def set_up(self) -> None:
        self.system.listen(self)
        setup = Argument(self.case.setup)
        if setup.flag("started", default=True):
            self.start(Argument({name: setup.get(name) for name in setup if name == "settings"}))

    def start(self, argument: Argument) -> None:
        """Open the relay on its folder. Settings that the argument does not give stay as they were."""
        if self.open_now:
            raise VectorError("the relay runs already; start comes after kill, or where setup says started: false")
        if not self.system.running:
            self.system.start()
            self.system.listen(self)
        settings = {**self._settings, **_settings(argument.inner("settings"))}
        params: JsonObject = {"data_folder": self._data_folder, "now": self._now, "settings": settings}
        try:
            self.system.call("open", params)
        except ApiError as error:
            self._note_start(settings, str(error.data.get("setting")))
            _check_refusal(error.data, argument)
            return
        except DriverDiedError:
            self.died()
            return
        self._note_start(settings)
        self._settings = settings
        self._opened_before = self.open_now = True
        self._expects_death = False
        if "fails" in argument:
            raise SpecBrokenError(
                "the relay started, and with this setting it must refuse to",
                expected=f"start fails: {_fields(argument.get('fails'))}",
                observed="it started",
            )

    def restart(self, argument: Argument) -> None:
        self._needs_relay("restart")
        self.record(Stopped(at=self.at, step=self.step))
        self.call("close", {})
        if self.open_now:
            self._gone()
            self.start(argument)

    def kill(self) -> None:
        self.system.kill()
        self.record(Killed(at=self.at, step=self.step, who=RELAY, settled=self._settled))
        self._gone()

    def died(self) -> None:
        """The process ended: right if it was told to at a crash point, an error otherwise."""
        if not self._expects_death:
            raise DriverDiedError("the driver ended, and nobody had asked for that")
        self._expects_death = False
        self.system.kill()
        self.see(Killed(at=self.at, step=self.step, who=RELAY, settled=self._settled, at_write=True))
        self._gone()

    def crash_at_write(self, write: int, when: str) -> None:
        self._needs_relay("crash_at_write")
        self.record(CrashArmed(at=self.at, step=self.step, write=write, when=when))
        self.call("crash.at_write", {"write": write, "when": when})
        self._expects_death = True

    def switch_store(self, mode: str) -> None:
        self._needs_relay("store")
        self.record(StoreSwitched(at=self.at, step=self.step, failing=mode == "failing"))
        self.call("store.fail", {"mode": mode})

    def _note_start(self, settings: Mapping[str, Json], refused: str = "") -> None:
        started = Started(at=self.at, step=self.step, again=self._opened_before, settings=settings, refused=refused)
        self.record(started)

    def _gone(self) -> None:
        """The relay does not run any more: every session is over, and no push will be answered."""
        self.open_now = False
        self.pushes.cut_off()
        self.connections.forget()
        self._push_sessions.clear()
        self._early.clear()
        for session in self.sessions.values():
            session.problem = "gone"

    def _needs_relay(self, verb: str) -> None:
        if not self.open_now:
            raise VectorError(f"{verb} needs a relay that runs; start comes first")

    # -- calls --------------------------------------------------------------------------------------------------

    def call(self, method: str, params: JsonObject) -> JsonObject:
        """A call that cannot fail. The result is empty if the process died in it, as it was told to."""
        try:
            return self.system.call(method, params)
        except ApiError as error:
            raise DriverError(
                f"the driver answered {method} with {error.data.get('case')}, which only open may answer"
            ) from None
        except DriverDiedError:
            self.died()
            return {}

    # -- Receive Sessions ---------------------------------------------------------------------------------------

    def session(self, label: str) -> ReceiveSession:
        session = self.sessions.get(label)
        if session is None and self.connections.find(label) is not None:
            raise SpecBrokenError(
                f"the handshake on {label} was not finished, so there is no Receive Session",
                expected=f"a Receive Session on {label}",
                observed="none",
            )
        if session is None:
            raise VectorError(f"no Receive Session is called {label}")
        return session

    def open_session(self, label: str, device: str) -> None:
        self._needs_relay("open_session")
        if label in self.sessions:
            raise VectorError(f"two Receive Sessions are called {label}")
        self._opening = True
        try:
            result = self.call("receive_session.open", {"device": self.devices[device].public.hex()})
        finally:
            self._opening = False
        session = self.sessions[label] = ReceiveSession(label, str(result.get("session", "")), device)
        if not self.open_now:
            session.problem = "gone"
            return
        self.record(ReceiveSessionOpened(at=self.at, step=self.step, session=label, device=device))
        known = self._by_name.get(session.name)
        if known is not None and not known.problem:
            raise DriverError(f"the driver named two Receive Sessions {session.name!r}; a name is used once")
        self._by_name[session.name] = session
        self._serve_early()

    def close_session(self, label: str) -> None:
        session = self.session(label)
        if session.problem == "ended":
            return
        if session.problem:
            raise VectorError(f"the Receive Session {label} is closed already")
        self.record(ReceiveSessionLeft(at=self.at, step=self.step, session=label, device=session.device))
        self.call("receive_session.close", {"session": session.name})
        session.problem = "left"

    def deliver_ack(self, session: ReceiveSession, blob_id: str, push: Push | None) -> None:
        """A session that the relay ended takes no ack any more: the ack is lost, as on a network.

        One that the device closed itself is named all the same: RLY-008 is about acks that come late.
        """
        lost, late = session.problem == "ended", session.problem == "left"
        if session.problem and not lost and not late:
            raise VectorError(f"the Receive Session {session.label} went with the relay, nothing can be acked on it")
        valid = not late and push is not None and push.blob_ids.get(session.label) == blob_id
        acked = DeliverAcked(
            at=self.at,
            step=self.step,
            label=push.label if push is not None else "",
            blob_id=blob_id,
            session=session.label,
            device=session.device,
            valid=valid,
            lost=lost,
            late=late,
        )
        self.record(acked)
        if lost:
            return
        if push is not None and valid:
            push.deleted = True
        bare = self.connections.find(session.label)
        if bare is not None:
            self.connections.deliver_ack(bare, blob_id)
            return
        self.system.notify("deliver_ack", {"session": session.name, "blob_id": blob_id})

    def _serve_early(self) -> None:
        """A driver may write what a new session is sent before it names the session."""
        early, self._early = self._early, []
        for call in early:
            self.receive(call)

    # -- pushes -------------------------------------------------------------------------------------------------

    def push(self, push: Push, body: bytes, cut_after: int = 0) -> None:
        """Send a push without waiting for its answer. `body` is that of the Push frame."""
        bare = self.connections.find(push.session) is not None
        session = "" if bare else self._push_session(push.session)
        if not self.open_now:
            push.state = State.CUT
            return
        pushed = Pushed(
            at=self.at,
            step=self.step,
            push=push.number,
            label=push.label,
            session=push.session,
            recipient=push.recipient,
            size=len(push.envelope),
        )
        if bare:
            if not cut_after:
                self.record(pushed)
            self.connections.push(push, body, cut_after)
            return
        self.record(pushed)
        params: JsonObject = {"session": session, "body": base64.b64encode(body).decode("ascii")}
        try:
            self.system.post("push", params, lambda result: self._push_answered(push, result))
        except DriverDiedError:
            self.died()

    def await_answers(self) -> None:
        """RLY-013: once the relay is quiet, no push waits for its answer."""
        deadline = time.monotonic() + self.patience
        while self.pushes.waiting() and self.await_more(deadline - time.monotonic()):
            pass
        if self.pushes.waiting() or not self.patience:
            self.settle()
        if not self.pushes.waiting():
            return
        waiting = ", ".join(push.label for push in self.pushes.waiting())
        raise SpecBrokenError(
            f"the relay is quiet and has not answered the push of {waiting}",
            expected="one answer for each push",
            observed="none",
            clause="RLY-013",
        )

    def _push_session(self, label: str) -> str:
        """Opened when first needed, and again where the relay ended it, as it may after a while."""
        name = self._push_sessions.get(label)
        if name is None and self.open_now:
            result = self.call("push_session.open", {})
            name = self._push_sessions[label] = str(result.get("session", ""))
        return name or ""

    def _push_answered(self, push: Push, result: JsonObject) -> None:
        outcome = str(result["outcome"])
        code = str(result["code"]) if outcome == "refused" else ""
        if code == UNTYPED and self.system.wire == "draft-1":
            raise DriverError(
                f"the driver answered a push with the code {UNTYPED}, and draft-1 tells each refusal's code"
            )
        push.state = State.ACKED if outcome == "ack" else State.REFUSED
        answered = PushAnswered(
            at=self.at,
            step=self.step,
            push=push.number,
            label=push.label,
            session=push.session,
            outcome=outcome,
            code=code,
            extra={name: value for name, value in result.items() if name not in ("outcome", "code")},
        )
        self.see(answered)

    # -- bare connections ---------------------------------------------------------------------------------------

    def answered(self, push: Push, result: JsonObject) -> None:
        self._push_answered(push, result)

    def opened_on(self, bare: Bare) -> None:
        session = ReceiveSession(bare.label, bare.name, bare.device)
        self.sessions[bare.label] = self._by_name[bare.name] = session
        self.record(ReceiveSessionOpened(at=self.at, step=self.step, session=bare.label, device=bare.device))

    def delivered_on(self, bare: Bare, blob_id: int, envelope: bytes) -> None:
        text = base64.b64encode(envelope).decode("ascii")
        self._deliver(Call("deliver", {"session": bare.name, "blob_id": str(blob_id), "envelope": text}, None))

    def left_on(self, bare: Bare) -> None:
        session = self.sessions.get(bare.label)
        if session is not None and not session.problem:
            session.problem = "left"
            self.record(ReceiveSessionLeft(at=self.at, step=self.step, session=bare.label, device=session.device))

    def ended_on(self, bare: Bare) -> None:
        session = self.sessions.get(bare.label)
        if session is not None and not session.problem:
            session.problem = "ended"
            self.see(SessionEnded(at=self.at, step=self.step, session=bare.label, device=session.device))

    # -- the record ---------------------------------------------------------------------------------------------

    def record(self, record: Record) -> None:
        """Something the kit did."""
        self.history.append(record)

    def see(self, record: Record) -> None:
        """Something the relay did: for the expectations, too."""
        self.history.append(record)
        self.observed.append(record)

    def is_closed(self, record: Record) -> bool:
        return not isinstance(record, SessionEnded | ConnectionClosed | HeartbeatCame | Established)

    # -- what the relay sends -----------------------------------------------------------------------------------

    def receive(self, call: Call) -> None:
        name = str(call.params.get("session", ""))
        if self._opening and name and name not in self._by_name and name not in self._push_sessions.values():
            self._early.append(call)
            return
        self._incoming[call.method](call)

    def _deliver(self, call: Call) -> None:
        name, blob_id = str(call.params["session"]), str(call.params["blob_id"])
        envelope = base64.b64decode(str(call.params["envelope"]))
        session = self._by_name.get(name) or ReceiveSession(
            f"{name!r}, a session that nobody opened", name, "", "unknown"
        )
        push = self.pushes.source_of(envelope, session.device, session.label, blob_id)
        delivered = BlobDelivered(
            at=self.at,
            step=self.step,
            label=push.label if push is not None else "",
            owner=push.recipient if push is not None else "",
            session=session.label,
            device=session.device,
            blob_id=blob_id,
            size=len(envelope),
            mismatch="" if push is not None else self.pushes.how_it_differs(envelope, session.device),
            problem=session.problem,
        )
        if push is not None:
            push.blob_ids[session.label] = blob_id
        self.see(delivered)

    def _session_closed(self, call: Call) -> None:
        name = str(call.params["session"])
        session = self._by_name.get(name)
        if session is not None:
            if not session.problem:
                session.problem = "ended"
                self.see(SessionEnded(at=self.at, step=self.step, session=session.label, device=session.device))
            return
        for label, each in list(self._push_sessions.items()):
            if each == name:
                del self._push_sessions[label]
                self.see(SessionEnded(at=self.at, step=self.step, session=label, device=""))
                return
        raise DriverError(f"the driver reports the end of session {name!r}, which is not open")


def _settings(argument: Argument) -> dict[str, Json]:
    """As the driver protocol writes them: durations in ms."""
    return {name: argument.duration(name) if name in DURATIONS else argument.get(name) for name in argument}


def _fields(value: Json) -> str:
    fields = value if isinstance(value, Mapping) else {}
    return ", ".join(f"{name}: {each}" for name, each in fields.items())


def _check_refusal(data: JsonObject, argument: Argument) -> None:
    wanted = argument.get("fails")
    fields = wanted if isinstance(wanted, Mapping) else {}
    if fields and all(data.get(name) == value for name, value in fields.items()):
        return
    raise SpecBrokenError(
        f"the relay refuses to start because of its setting {data.get('setting')}",
        expected=f"start fails: {_fields(wanted)}" if fields else "the relay starts",
        observed=f"start fails: {_fields(data)}",
    )
