"""The system under test behind its driver: calls matched, messages checked, time and quiet asked for."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from conformance import messages
from conformance.drivers.link import Link, Silence
from conformance.outcome import ApiError, DriverError, SpecBrokenError
from conformance.schema import Schema
from reference_impl.wire.json_types import Json, JsonObject

PROTOCOL_VERSION = 1
UNKNOWN_METHOD = "conformance.no_such_method"
QUIET_SECONDS = 0.2
MAX_ROUNDS = 20_000
"""How often one settle may find new things happening. Worlds detect a hot loop long before; this ends the rest."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """In seconds of real time: for an answer, and for the start of a driver up to its answer to `initialize`."""

    reply: float = 5.0
    start: float = 30.0


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


class System:
    """One driver, started when first needed and kept while it behaves."""

    def __init__(self, link: Link, role: str, schemas: Mapping[str, Schema], timeouts: Timeouts) -> None:
        self.role = role
        self._link = link
        self._schemas = schemas
        self._timeouts = timeouts
        self._listener: Listener = _Nobody()
        self._next_number = 1
        self._waiting: dict[int, _Waiting] = {}
        self._asked: set[int] = set()
        self._answers_sent = 0
        self._greeting: Greeting | None = None
        self._probed = False
        self.running = False

    # -- life ---------------------------------------------------------------------------------------------------

    def start(self) -> Greeting:
        """Start the driver and shake hands. Raises DriverError with what is wrong and what to do."""
        self._forget_calls()
        self._link.start()
        self.running = True
        try:
            greeting = self._shake_hands()
        except (DriverError, ApiError):
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

    def listen(self, listener: Listener | None) -> None:
        self._listener = listener or _Nobody()

    @property
    def capabilities(self) -> frozenset[str]:
        """What the driver listed, and `kill`, which the kit does by itself."""
        if self._greeting is None:
            return frozenset()
        return self._greeting.capabilities | {"kill"}

    @property
    def serves_many_cases(self) -> bool:
        return self._link.serves_many_cases

    def last_words(self) -> str:
        return self._link.last_words()

    # -- messages -----------------------------------------------------------------------------------------------

    def call(self, method: str, params: JsonObject) -> JsonObject:
        """Call the driver and wait for the answer, serving meanwhile what it asks for.

        Raises ApiError for an error of the implementation's API, DriverDiedError if the driver ends.
        """
        return self._await(self.post(method, params), self._timeouts.reply)

    def post(self, method: str, params: JsonObject, then: Answered | None = None) -> int:
        """Send a call without waiting. `then` gets the result when it comes; errors of the API are not expected."""
        self._check(f"{method}.params", params, f"the kit's own {method}")
        number = self._next_number
        self._next_number += 1
        self._waiting[number] = _Waiting(method, then)
        self._link.send(messages.request(number, method, params))
        return number

    def notify(self, method: str, params: JsonObject) -> None:
        self._check(f"{method}.params", params, f"the kit's own {method}")
        self._link.send(messages.notification(method, params))

    def answer(self, call_number: int, method: str, result: JsonObject) -> None:
        """Answer a request of the driver."""
        self._check(f"{method}.result", result, f"the kit's own answer to {method}")
        self._asked.discard(call_number)
        self._answers_sent += 1
        self._link.send(messages.response(call_number, result))

    def settle(self) -> int | None:
        """Wait until the system is quiet. Returns the time of its next timer in Unix ms, or None."""
        if "settle" not in self.capabilities:
            self._wait_for_silence()
            return None
        for _ in range(MAX_ROUNDS):
            answers = self._answers_sent
            result = self.call("settle", {})
            if answers == self._answers_sent:
                return _timer(result)
        raise SpecBrokenError("the system never comes to rest: it goes on although no time passes")

    def advance(self, now: int) -> int | None:
        """Set the clock to `now` (Unix ms). Returns the time of the next timer."""
        return _timer(self.call("clock.advance", {"now": now}))

    # -- inside -------------------------------------------------------------------------------------------------

    def _shake_hands(self) -> Greeting:
        hello: JsonObject = {
            "protocol_version": PROTOCOL_VERSION,
            "role": self.role,
            "envelopes": "plain",
            "wire": "draft-1",
        }
        result = self._await(self.post("initialize", hello), self._timeouts.start)
        greeting = self._checked_greeting(result)
        if not self._probed:
            self._probe()
            self._probed = True
        return greeting

    def _checked_greeting(self, result: JsonObject) -> Greeting:
        if result["role"] != self.role:
            raise WrongRoleError(str(result["role"]), self.role)
        if result["protocol_version"] != PROTOCOL_VERSION:
            raise DriverError(
                f"the driver speaks protocol version {result['protocol_version']}, "
                f"this kit speaks {PROTOCOL_VERSION}; see adapters/PROTOCOL.md"
            )
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
                f"{messages.METHOD_NOT_FOUND}: a driver that says yes to everything proves nothing"
            )

    def _await(self, number: int, seconds: float) -> JsonObject:
        method = self._waiting[number].method
        return self._result(method, self._collect(number, seconds))

    def _collect(self, number: int, seconds: float) -> JsonObject:
        """Serve the driver until the answer to this call is there."""
        waiting = self._waiting[number]
        deadline = time.monotonic() + seconds
        while waiting.answer is None:
            left = deadline - time.monotonic()
            try:
                if left <= 0:
                    raise Silence
                self._serve(self._link.receive(left))
            except Silence:
                raise DriverError(
                    f"the driver did not answer {waiting.method} within {seconds:g} s; "
                    "answer it, or raise `timeouts` in the manifest"
                ) from None
        del self._waiting[number]
        return waiting.answer

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
                "each request is answered once, with its own id"
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
        self._check(f"{method}.result", result, f"the driver's answer to {method}")
        return result

    def _failure(self, method: str, error: Mapping[str, Json]) -> Exception:
        data = error.get("data")
        if error.get("code") == messages.API_ERROR and isinstance(data, dict):
            self._check("api-error", data, f"the error that the driver answered to {method}")
            return ApiError(data)
        if error.get("code") == messages.METHOD_NOT_FOUND:
            return DriverError(
                f"the driver does not know the method {method}; serve it, or leave out the capability that promises it"
            )
        return DriverError(f"the driver failed in {method}: {error.get('message', 'no message')}")

    def _take_call(self, message: JsonObject) -> None:
        method = str(message["method"])
        params = message.get("params", {})
        number = message.get("id")
        if f"{method}.params" not in self._schemas:
            raise DriverError(f"the driver sent {method!r}, which is no message of the driver protocol")
        self._check(f"{method}.params", params, f"the driver's {method}")
        is_request = f"{method}.result" in self._schemas
        if is_request != isinstance(number, int):
            kind = "a request, with an id" if is_request else "a notification, without an id"
            raise DriverError(f"the driver sent {method} in the wrong form: it must be {kind}")
        if isinstance(number, int):
            if number in self._asked:
                raise DriverError(f"the driver used the id {number} for two requests that both wait")
            self._asked.add(number)
        if isinstance(params, dict):
            self._listener.receive(Call(method, params, number if isinstance(number, int) else None))

    def _check(self, name: str, value: Json, whose: str) -> None:
        schema = self._schemas.get(name)
        if schema is None:
            raise DriverError(f"{whose} is no message of the driver protocol")
        if not schema.holds(value):
            raise DriverError(f"{whose} does not fit the protocol: {schema.explain(value)}")

    def _wait_for_silence(self) -> None:
        for _ in range(MAX_ROUNDS):
            try:
                self._serve(self._link.receive(QUIET_SECONDS))
            except Silence:
                return
        raise SpecBrokenError("the system never comes to rest: it goes on although nothing was asked")

    def _forget_calls(self) -> None:
        self._waiting.clear()
        self._asked.clear()


def _timer(result: JsonObject) -> int | None:
    timer = result["next_timer"]
    return timer if isinstance(timer, int) else None
