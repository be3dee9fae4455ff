"""The world of a codec case: no relay, no peers, no time. One call, and what it must come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from conformance.codec.difference import Difference, brief, first_difference
from conformance.codec.files import VERB
from conformance.codec.reading import READERS
from conformance.codec.values import each_prefix, expanded
from conformance.engine.argument import Argument
from conformance.engine.record import Promise, Record
from conformance.engine.world import Expectation, KillPoint, Query, Role, Stimulus
from conformance.outcome import DriverDiedError, NotRunError, SpecBrokenError, UnknownMethodError, VectorError
from conformance.strict_yaml import Value
from conformance.system import Call, System
from conformance.vector import Case
from reference_impl.wire.content import MalformedError
from reference_impl.wire.json_types import JsonObject

REFUSED = "refused"
READ_BACK = "read_back"


@dataclass(frozen=True, slots=True, kw_only=True)
class CodecCalled(Record):
    """The kit called the codec. `params` are cut for the reader."""

    TARGET = "system"

    method: str
    params: str

    def describe(self) -> str:
        return f"{self.method} {self.params}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CodecAnswered(Record):
    """What the codec gave."""

    SOURCE = "system"
    TARGET = "kit"

    result: str

    def describe(self) -> str:
        return self.result


class CodecWorld:
    """Sends the calls of a case and compares. The system is never opened, and nothing of it lasts."""

    epoch = 0
    lives = 0
    now = 0
    patience = 0.0

    def __init__(self, _case: Case, system: System, _data_folder: str, _kill_point: KillPoint) -> None:
        self._system = system
        self.step = 0
        self.history: list[Record] = []
        self.observed: list[Record] = []
        self.stimuli: Mapping[str, Stimulus] = {VERB: self._call}
        self.expectations: Mapping[str, Expectation] = {}
        self.queries: Mapping[str, Query] = {}
        self.promises: Sequence[Promise] = ()
        self.names: Mapping[str, str] = {}

    def set_up(self) -> None:
        self._system.listen(self)

    def receive(self, call: Call) -> None:
        raise SpecBrokenError(f"a codec call asks for nothing, and the driver sent {call.method}")

    def settle(self) -> int | None:
        return None

    def move_clock(self, now: int) -> None:  # noqa: ARG002 - as above
        raise VectorError("a codec case has no clock")

    def await_more(self, seconds: float) -> bool:  # noqa: ARG002 - nothing comes beside the answers
        return False

    def is_closed(self, record: Record) -> bool:  # noqa: ARG002 - nothing is observed beside the answers
        return False

    def died(self) -> None:
        raise DriverDiedError("the driver ended in a codec call")

    def recover(self) -> None:
        raise VectorError("a codec case is not swept")

    def finish(self) -> None:
        pass

    def _call(self, argument: Argument) -> None:
        case = argument.value
        if not isinstance(case, dict) or not isinstance(params := expanded(case["params"]), dict):
            raise VectorError("a codec case has a method, params and what is expected")
        method, alternatives = str(case["method"]), case["expect"]
        path = str(case["every_prefix_of"])
        wanted = [each for each in alternatives if isinstance(each, dict)] if isinstance(alternatives, list) else []
        if not path:
            self._judge(method, params, wanted, "")
        for changed, size in each_prefix(params, path) if path else ():
            self._judge(method, changed, wanted, f" of {path} cut after {size} bytes")

    def _judge(self, method: str, params: Value, alternatives: list[dict[str, Value]], cut: str) -> None:
        if not isinstance(params, dict):
            raise VectorError("params are not an object")
        self.history.append(CodecCalled(at=0, step=self.step, method=method, params=brief(params)))
        try:
            result = self._system.call(method, dict(params))
        except UnknownMethodError:
            raise NotRunError(f"the driver does not offer {method}") from None
        self.history.append(CodecAnswered(at=0, step=self.step, result=brief(result)))
        differences = [_difference(each, result) for each in alternatives]
        if None in differences:
            return
        first = next(each for each in differences if each is not None)
        at = f", {first.at}" if first.at else ""
        more = f", or {len(differences) - 1} other that the spec allows" if len(differences) > 1 else ""
        raise SpecBrokenError(
            f"{method}{cut}: {first.where} is wrong{at}",
            expected=f"{first.where}: {first.expected}{more}",
            observed=f"{first.where}: {first.observed}",
        )


def _difference(alternative: dict[str, Value], result: JsonObject) -> Difference | None:
    """How the answer differs from one that is allowed; `None` if it does not."""
    refused = result.get(REFUSED)
    if READ_BACK in alternative and refused is None:
        return _read_back(alternative[READ_BACK], result)
    if REFUSED in alternative:
        reasons = alternative[REFUSED]
        words = [str(reason) for reason in reasons] if isinstance(reasons, list) else []
        if refused in words:
            return None
        seen = brief(result) if refused is None else f"refused as {refused}"
        return Difference("the answer", "", f"refused as {' or '.join(words)}", seen)
    if refused is not None:
        return Difference("the answer", "", brief(alternative.get("result", "bytes")), f"refused as {refused}")
    return first_difference(expanded(alternative["result"]), result)


def _read_back(wanted: Value, result: JsonObject) -> Difference | None:
    """How the bytes in the answer differ from right ones, which a reader of the kit's own finds out."""
    if not isinstance(wanted, dict) or not isinstance(given := wanted["with"], dict):
        raise VectorError("read_back names a method, params and a result")
    name, read = READERS[str(wanted["method"])]
    data = bytes.fromhex(str(result[name]))
    most = wanted.get("at_most", len(data))
    if isinstance(most, int) and len(data) > most:
        return Difference(name, "", f"{most} bytes at most", f"{len(data)} bytes")
    try:
        found = read(data, given)
    except MalformedError as error:
        return Difference(name, "", "bytes that can be read", f"bytes of which this is wrong: {error}")
    difference = first_difference(expanded(wanted["result"]), found)
    return difference and replace(difference, where=f"{difference.where} in {name}")


def codec_role(role: Role) -> Role:
    """How a system of that role is judged in codec cases."""
    return Role(role.name, role.spec, role.schemas, CodecWorld, swept=False)
