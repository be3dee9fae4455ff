"""The system under test behind its driver: calls matched, messages checked, time and quiet asked for."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from conformance import messages
from conformance.drivers.link import Link, Silence
from conformance.outcome import ApiError, DriverDiedError, DriverError, SpecBrokenError, UnknownMethodError
from conformance.schema import Schema
from reference_impl.wire.json_types import Json, JsonObject

PROTOCOL_VERSION = 1
UNKNOWN_METHOD = "conformance.no_such_method"
QUIET_SECONDS = 0.2
MAX_ROUNDS = 20_000
"""How often one settle may find new things happening. Worlds detect a hot loop long before; this ends the rest."""
FLOOD = 100
"""From so many messages on, a sentence about a missing answer also tells of them."""
MAX_MESSAGES = 100_000
"""So many messages may come while the kit waits for one answer; the largest burst of the spec stays below."""
SILENCE_FACTOR = 10
"""A driver without `settle` may go on for so many reply timeouts until it is quiet."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """In seconds of real time: for an answer, for a start up to the answer to `initialize`, and for a whole case."""

    reply: float = 5.0
    start: float = 30.0
    case: float = 300.0


@dataclass(frozen=True, slots=True)
class Greeting:
    """What a driver said of itself."""

    name: str
    version: str
    capabilities: frozenset[str]


class WrongRoleError(DriverError):
    """The driver has another role than the one it is to be judged in."""

    def __init__(self, role: str, wanted: str) -> None:
        super().__init__(
            f"the driver says that its role is {role!r}, and the manifest wants {wanted!r}; make the two agree"
        )
        self.role = role


@dataclass(frozen=True, slots=True)
class Call:
    """A request or notification from the driver. `number` is None for a notification."""

    method: str
    params: JsonObject
    number: int | None


class Listener(Protocol):
    """Who the driver talks to: the world that the kit plays."""

    def receive(self, call: Call) -> None: ...


Answered = Callable[[JsonObject], None]


@dataclass(slots=True)
class _Waiting:
    method: str
    then: Answered | None = None
    answer: JsonObject | None = field(default=None)


class _Nobody:
    def receive(self, call: Call) -> None:
        raise DriverError(f"the driver sent {call.method} outside a vector; after `reset` it must be silent")


class _Leaving:
    """Listens while a vector ends: what crosses the `reset` on its way concerns nobody any more."""

    def receive(self, call: Call) -> None:
        pass


class System:
    """One driver, started when first needed and kept while it behaves."""

    def __init__(  # noqa: PLR0913 - how a system is reached, and what it speaks
        self,
        link: Link,
        role: str,
        schemas: Mapping[str, Schema],
        timeouts: Timeouts,
        *,
        envelopes: str = "sealed",
        wire: str = "draft-1",
    ) -> None:
        self.envelopes = envelopes
        self.role = role
        self._link = link
        self._schemas = schemas
        self._timeouts = timeouts
        self._wire = wire
        self._listener: Listener = _Nobody()
        self._next_number = 1
        self._waiting: dict[int, _Waiting] = {}
        self._used_ids: set[int] = set()
        self._answers_sent = 0
        self._at_rest = False
        self._case_ends = float("inf")
        self._last_case = ""
        self._greeting: Greeting | None = None
        self._probed = False
        self.running = False
        self.ending = ""
        """How the driver ended when it did so by itself, and what it was doing."""

    # -- life ---------------------------------------------------------------------------------------------------

    def start(self) -> Greeting:
        """Start the driver and shake hands. Raises DriverError with what is wrong and what to do."""
        self._forget_calls()
        self.ending = ""
        self._link.start()
        self.running = True
        try:
            greeting = self._shake_hands()
        except DriverDiedError as error:
            self.kill()
            raise DriverError(self.ending or str(error)) from None
        except DriverError:
            self.kill()
            raise
        self._greeting = greeting
        return greeting

    def kill(self) -> None:
        self._link.kill()
        self.running = False
        self._forget_calls()

    def stop(self) -> None:
        self._link.stop()
        self.running = False
        self._forget_calls()

    def listen(self, listener: Listener) -> None:
        self._listener = listener

    def begin_case(self, name: str) -> None:
        """Give a case its time, on a driver that was silent since the case before. Raises DriverError if not."""
        before, self._last_case = self._last_case, name
        self._case_ends = time.monotonic() + self._timeouts.case
        if not self.running:
            return
        try:
            said = self._unasked()
        except DriverDiedError as error:
            raise DriverError(
                f"{error}, after it had answered the `reset` that ended {before}; "
                "a driver must go on and serve the next `open`"
            ) from None
        if said:
            raise DriverError(
                f"the driver sent {said} after it had answered the `reset` that ended {before}; "
                "forget everything at `reset`, and be silent until the next `open`"
            )

    def reset(self) -> None:
        """End a case. Raises DriverError if the driver cannot, or goes on as if nothing had ended."""
        self._before_speaking()
        self._listener = _Leaving()
        self._own_call("reset", {})
        self._waiting.clear()
        self._listener = _Nobody()
        said = self._unasked()
        if said:
            raise DriverError(
                f"the driver sent {said} after its answer to `reset`; "
                "forget everything at `reset`, and be silent until the next `open`"
            )

    @property
    def capabilities(self) -> frozenset[str]:
        """What the driver listed, and what follows: whose clock the kit moves, for that one time passes as well."""
        if self._greeting is None:
            return frozenset()
        listed = self._greeting.capabilities
        elapse = {"elapse"} if "clock" in listed else set()
        kill = set() if self._link.is_live else {"kill"}
        return listed | elapse | kill

    @property
    def wire(self) -> str:
        """The name of the wire profile that it is judged under."""
        return self._wire

    @property
    def is_live(self) -> bool:
        """Whether the kit did not start it: what an earlier case or run left in it is still there."""
        return self._link.is_live

    @property
    def patience(self) -> float:
        """How many seconds more a system that is quiet is waited for: none where the kit moves its clock."""
        return 0.0 if "clock" in self.capabilities else self._timeouts.reply

    def await_more(self, seconds: float) -> bool:
        """Serve the next thing that comes within that time. False if nothing does. Raises DriverDiedError."""
        try:
            message = self._link.receive(max(seconds, 0.0))
        except Silence:
            return False
        except DriverDiedError as error:
            self.ending = f"{error} while the kit waited for what was expected, and nobody had asked it to end"
            raise
        self._serve(message)
        return True

    @property
    def serves_many_cases(self) -> bool:
        return self._link.serves_many_cases

    def data_folder(self) -> AbstractContextManager[str]:
        return self._link.data_folder()

    def last_words(self) -> str:
        return self._link.last_words()

    # -- messages -----------------------------------------------------------------------------------------------

    def call(self, method: str, params: JsonObject, takes: float = 0.0) -> JsonObject:
        """Call the driver and wait for the answer, serving meanwhile what it asks for.

        `takes`: how many seconds what is asked lasts, before the time for the answer begins.

        Raises ApiError for an error of the implementation's API, DriverDiedError if the driver ends.
        """
        return self._await(self.post(method, params), self._timeouts.reply + takes)

    def post(self, method: str, params: JsonObject, then: Answered | None = None) -> int:
        """Send a call without waiting. `then` gets the result when it comes; errors of the API are not expected."""
        self._check(method, ".params", params, "the kit's own {}")
        self._before_speaking()
        number = self._next_number
        self._next_number += 1
        self._waiting[number] = _Waiting(method, then)
        self._link.send(messages.request(number, method, params))
        return number

    def notify(self, method: str, params: JsonObject) -> None:
        self._check(method, ".params", params, "the kit's own {}")
        self._before_speaking()
        self._link.send(messages.notification(method, params))

    def answer(self, call_number: int, method: str, result: JsonObject) -> None:
        """Answer a request of the driver."""
        self._check(method, ".result", result, "the kit's own answer to {}")
        self._before_speaking()
        self._answers_sent += 1
        self._link.send(messages.response(call_number, result))

    def settle(self) -> int | None:
        """Wait until the system is quiet. Returns the time of its next timer in Unix ms, or None.

        The timer of a driver whose clock is not the kit's says nothing here, and is None. So is the timer of a driver
        without `settle`: ask `timer_at` for it.
        """
        if "settle" not in self.capabilities:
            self._wait_for_silence()
            return None
        has_clock = "clock" in self.capabilities
        for _ in range(MAX_ROUNDS):
            answers = self._answers_sent
            result = self._own_call("settle", {})
            if answers == self._answers_sent:
                self._at_rest = has_clock
                return _timer(result) if has_clock else None
        raise SpecBrokenError("the system never comes to rest: it goes on although no time passes")

    def timer_at(self, now: int) -> int | None:
        """The next timer of a driver that has a clock and no `settle`: the answer to an advance that moves nothing."""
        return self.advance(now) if self.capabilities & {"clock", "settle"} == {"clock"} else None

    def advance(self, now: int, by: int = 0) -> int | None:
        """Set the clock to `now` (Unix ms). Returns the time of the next timer, where the clock is the kit's.

        A system in real time takes as long as the time moves: `by` ms.
        """
        if "clock" in self.capabilities:
            return _timer(self._own_call("clock.advance", {"now": now}))
        self._own_call("clock.advance", {"now": now}, by / 1000)
        return None

    # -- inside -------------------------------------------------------------------------------------------------

    def _shake_hands(self) -> Greeting:
        hello: JsonObject = {
            "protocol_version": PROTOCOL_VERSION,
            "role": self.role,
            "envelopes": self.envelopes,
            "wire": self._wire,
        }
        answer = self._collect(self.post("initialize", hello), self._timeouts.start)
        _check_version(answer)
        try:
            greeting = self._checked_greeting(self._result("initialize", answer))
        except ApiError as error:
            raise _no_api_call("initialize", error) from None
        if not self._probed:
            self._probe()
            self._probed = True
        return greeting

    def _checked_greeting(self, result: JsonObject) -> Greeting:
        if result["role"] != self.role:
            raise WrongRoleError(str(result["role"]), self.role)
        names = result["capabilities"]
        listed = frozenset(str(name) for name in names) if isinstance(names, list) else frozenset[str]()
        return Greeting(str(result["name"]), str(result["version"]), listed)

    def _probe(self) -> None:
        """Find out drivers that say yes to everything."""
        number = self._next_number
        self._next_number += 1
        self._waiting[number] = _Waiting(UNKNOWN_METHOD)
        self._link.send(messages.request(number, UNKNOWN_METHOD, {}))
        answer = self._collect(number, self._timeouts.reply)
        error = answer.get("error")
        if not isinstance(error, Mapping) or error.get("code") != messages.METHOD_NOT_FOUND:
            raise DriverError(
                f"the driver answered the unknown method {UNKNOWN_METHOD} with something else than JSON-RPC error "
                f"{messages.METHOD_NOT_FOUND}: a driver that says yes to everything proves nothing; "
                "answer so whatever method you do not know"
            )

    def _own_call(self, method: str, params: JsonObject, takes: float = 0.0) -> JsonObject:
        """A call that is the driver's own affair and no part of any API."""
        try:
            return self.call(method, params, takes)
        except ApiError as error:
            raise _no_api_call(method, error) from None

    def _await(self, number: int, seconds: float) -> JsonObject:
        method = self._waiting[number].method
        return self._result(method, self._collect(number, seconds))

    def _collect(self, number: int, seconds: float) -> JsonObject:
        """Serve the driver until the answer to this call is there."""
        waiting = self._waiting[number]
        deadline = time.monotonic() + seconds
        received = 0
        last: Json = None
        while waiting.answer is None:
            try:
                message = self._next_message(waiting.method, deadline)
            except Silence:
                raise _no_answer(waiting.method, seconds, received, messages.name(last)) from None
            last = message
            self._serve(message)
            received += 1
            if received > MAX_MESSAGES:
                raise DriverError(
                    f"the driver sent more than {MAX_MESSAGES} messages instead of its answer to {waiting.method}; "
                    "it must come to an end and answer"
                )
        self._waiting.pop(number, None)
        return waiting.answer

    def _next_message(self, method: str, deadline: float) -> Json:
        now = time.monotonic()
        if now >= self._case_ends:
            raise DriverError(
                f"the case took longer than {self._timeouts.case:g} s, and was given up when the kit waited for the "
                f"answer to {method}; find out what goes on for so long, or raise `timeouts.case` in the manifest"
            )
        if now >= deadline:
            raise Silence
        try:
            return self._link.receive(deadline - now)
        except DriverDiedError as error:
            self.ending = f"{error} instead of answering {method}, and nobody had asked it to end"
            raise

    def _before_speaking(self) -> None:
        """A system that said it was quiet, and whose clock is the kit's, says nothing until it is spoken to."""
        if not self._at_rest:
            return
        self._at_rest = False
        try:
            said = self._unasked()
        except DriverDiedError:
            return  # whoever waits for the next answer finds out, and knows whether it was to be expected
        if said:
            raise DriverError(
                f"the driver sent {said} after its answer to `settle`, and nothing had happened since; "
                "answer `settle` when everything is done and written"
            )

    def _unasked(self) -> str:
        """What the driver sent although it is not its turn; empty if nothing."""
        if not self._link.has_more():
            return ""
        try:
            return messages.name(self._link.receive(0))
        except Silence:
            return ""

    def _serve(self, raw: Json) -> None:
        message = messages.check_envelope(raw)
        if messages.is_response(message):
            self._take_answer(message)
        else:
            self._take_call(message)

    def _take_answer(self, message: JsonObject) -> None:
        number = message["id"]
        waiting = self._waiting.get(number) if isinstance(number, int) else None
        if waiting is None or waiting.answer is not None:
            raise DriverError(
                f"the driver answered request {number}, which waits for no answer: "
                "answer each request once, with its own id"
            )
        waiting.answer = message
        if waiting.then is not None and isinstance(number, int):
            del self._waiting[number]
            waiting.then(self._result(waiting.method, message))

    def _result(self, method: str, message: JsonObject) -> JsonObject:
        error = message.get("error")
        if isinstance(error, Mapping):
            raise self._failure(method, error)
        result = message["result"]
        if not isinstance(result, dict):
            raise DriverError(f"the driver's answer to {method} has a result that is not an object")
        self._check(method, ".result", result, "the driver's answer to {}")
        return result

    def _failure(self, method: str, error: Mapping[str, Json]) -> Exception:
        data = error.get("data")
        if error.get("code") == messages.API_ERROR and isinstance(data, dict):
            self._check("api-error", "", data, f"the error that the driver answered to {method}")
            return ApiError(data)
        if error.get("code") == messages.METHOD_NOT_FOUND:
            return UnknownMethodError(
                f"the driver does not know the method {method}; serve it, or leave out the capability that promises it"
            )
        return DriverError(
            f"the driver failed in {method}: {error.get('message', 'no message')} (error {error.get('code')}); "
            "mend it, or answer with error 1 and `data` if it was your implementation's API that failed"
        )

    def _take_call(self, message: JsonObject) -> None:
        method = str(message["method"])
        params = message.get("params", {})
        number = message.get("id")
        if f"{method}.params" not in self._schemas:
            raise DriverError(
                f"the driver sent {method!r}, which is no message of the driver protocol for the role {self.role}; "
                "adapters/PROTOCOL.md lists them"
            )
        self._check(method, ".params", params, "the driver's {}")
        is_request = f"{method}.result" in self._schemas
        if is_request != isinstance(number, int):
            kind = "a request, with an id" if is_request else "a notification, without an id"
            raise DriverError(f"the driver sent {method} in the wrong form: it must be {kind}")
        if isinstance(number, int):
            if number in self._used_ids:
                raise DriverError(
                    f"the driver used the id {number} for a second request, {method}; "
                    "number your requests, and use no id twice within one process"
                )
            self._used_ids.add(number)
        if isinstance(params, dict):
            self._listener.receive(Call(method, params, number if isinstance(number, int) else None))

    def _check(self, method: str, part: str, value: Json, whose: str) -> None:
        """`whose` has a place for the method; this is on the path of every message, so it is filled only in need."""
        schema = self._schemas.get(method + part)
        if schema is None:
            raise DriverError(f"{whose.format(method)} is no message of the driver protocol")
        if not schema.holds(value):
            why = schema.explain(value)
            raise DriverError(f"{whose.format(method)} does not fit the protocol: {why}; see adapters/PROTOCOL.md")

    def _wait_for_silence(self) -> None:
        seconds = SILENCE_FACTOR * self._timeouts.reply
        deadline = time.monotonic() + seconds
        for _ in range(MAX_MESSAGES):
            try:
                self._serve(self._link.receive(QUIET_SECONDS))
            except Silence:
                return
            except DriverDiedError as error:
                self.ending = f"{error} while the kit waited for it to be quiet, and nobody had asked it to end"
                raise
            if time.monotonic() >= deadline:
                raise DriverError(
                    f"the driver was not quiet for {QUIET_SECONDS:g} s within {seconds:g} s; "
                    "offer the capability `settle` if your system does not become quiet by itself"
                )
        raise SpecBrokenError("the system never comes to rest: it goes on although nothing was asked")

    def _forget_calls(self) -> None:
        self._waiting.clear()
        self._used_ids.clear()
        self._at_rest = False
        self._listener = _Nobody()


def _check_version(answer: JsonObject) -> None:
    result = answer.get("result")
    spoken = result.get("protocol_version", PROTOCOL_VERSION) if isinstance(result, Mapping) else PROTOCOL_VERSION
    if spoken != PROTOCOL_VERSION:
        raise DriverError(
            f"the driver speaks protocol version {spoken}, this kit speaks {PROTOCOL_VERSION}; "
            "see adapters/PROTOCOL.md, or take the release of the kit that speaks the driver's"
        )


def _no_answer(method: str, seconds: float, received: int, last: str) -> DriverError:
    meanwhile = f", and sent {received} other messages meanwhile, {last} the last of them" if received > FLOOD else ""
    timeout = "start" if method == "initialize" else "reply"
    return DriverError(
        f"the driver did not answer {method} within {seconds:g} s{meanwhile}; "
        f"answer it, or raise `timeouts.{timeout}` in the manifest"
    )


def _no_api_call(method: str, error: ApiError) -> DriverError:
    return DriverError(
        f"the driver answered {method} with the API error {error}; {method} is no call of your implementation's API, "
        "and must succeed"
    )


def _timer(result: JsonObject) -> int | None:
    timer = result["next_timer"]
    return timer if isinstance(timer, int) else None
