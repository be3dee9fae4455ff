"""How steps are matched against what was observed, over a world of coloured balls that roll at set times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest

from conformance.engine.argument import Argument
from conformance.engine.record import Promise, Record
from conformance.engine.scenario import Scenario
from conformance.engine.world import Expectation, Matcher, Query, Stimulus
from conformance.outcome import DriverDiedError, SpecBrokenError, VectorError
from conformance.strict_yaml import Value
from conformance.vector import Case, Step

EPOCH = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ball(Record):
    colour: str

    def describe(self) -> str:
        return f"a {self.colour} ball"


class Balls:
    """`roll: [red, …]` rolls balls at once, `later: {colour, in}` after a while, `die` ends the system."""

    epoch = EPOCH

    def __init__(self) -> None:
        self.history: list[Record] = []
        self.observed: list[Record] = []
        self.step = 0
        self.lives = 1
        self.now = EPOCH
        self.timers: list[tuple[int, str]] = []
        self.late: list[str] = []
        self.stuck = False
        self.deaths = 0
        self.finished = False
        self.promises: Sequence[Promise] = ()
        self.names: Mapping[str, str] = {}
        self.stimuli: Mapping[str, Stimulus] = {
            "roll": self._roll,
            "later": lambda given: self.timers.append((self.now + given.duration("in"), given.text("colour"))),
            "roll_late": lambda given: self.late.extend(given.texts("of")),
            "stick": self._stick,
            "die": self._die,
        }
        self.expectations: Mapping[str, Expectation] = {
            "ball": lambda given: [_ball(colour) for colour in given.texts("of")] if given.value else [_ball("")]
        }
        self.queries: Mapping[str, Query] = {"colour_count": self._count}

    def set_up(self) -> None:
        self.step = 0

    def settle(self) -> int | None:
        return self.now if self.stuck else min((at for at, _ in self.timers), default=None)

    def move_clock(self, now: int) -> None:
        self.now = now
        due = [timer for timer in self.timers if timer[0] <= now]
        self.timers = [timer for timer in self.timers if timer[0] > now]
        for _, colour in due:
            self.see(colour)

    @property
    def patience(self) -> float:
        return 60.0 if self.late else 0.0

    def await_more(self, seconds: float) -> bool:
        if seconds <= 0 or not self.late:
            return False
        self.see(self.late.pop(0))
        return True

    def is_closed(self, record: Record) -> bool:
        return not (isinstance(record, Ball) and record.colour == "transparent")

    def died(self) -> None:
        self.deaths += 1

    def recover(self) -> None:
        raise AssertionError("nothing is swept here")

    def finish(self) -> None:
        self.finished = True

    def see(self, colour: str) -> None:
        ball = Ball(at=self.now - EPOCH, step=self.step, colour=colour)
        self.history.append(ball)
        self.observed.append(ball)

    def _roll(self, given: Argument) -> None:
        for colour in given.texts("of") if not isinstance(given.value, list) else given.value:
            self.see(str(colour))

    def _stick(self, _: Argument) -> None:
        self.stuck = True

    def _die(self, _: Argument) -> None:
        raise DriverDiedError("it ended")

    def _count(self, given: Argument) -> None:
        if given.number("of") != len(self.history):
            raise SpecBrokenError("the count is not what it must be")


def _ball(colour: str) -> Matcher:
    return Matcher(f"{colour or 'any'} ball", lambda record: isinstance(record, Ball) and colour in ("", record.colour))


def play(*steps: tuple[str, Value], allow: Sequence[Value] = (), world: Balls | None = None) -> Balls:
    numbered = tuple(
        Step(number, verb, given, number, f"{verb} {given}") for number, (verb, given) in enumerate(steps, 1)
    )
    case = Case(
        id="X",
        vector="X",
        title="",
        spec="delivery",
        role="device",
        clauses=("RCV-001",),
        requires=(),
        setup={},
        allow=tuple(allow),
        hostile=False,
        steps=numbered,
        location="x.yaml",
        line=1,
    )
    played = world or Balls()
    Scenario(case, played).run()
    return played


def roll_late(*colours: str) -> tuple[str, Value]:
    return ("roll_late", list(colours))


def roll(*colours: str) -> tuple[str, Value]:
    return "roll", list(colours)


def ball(colour: str, **options: Value) -> tuple[str, Value]:
    return "expect", {"ball": colour, **options}


LATER: tuple[str, Value] = ("later", {"colour": "red", "in": "10s"})
ANY: tuple[str, Value] = ("expect", {"ball": {}})
NOTHING: tuple[str, Value] = ("expect", "nothing")
EITHER: Value = {"any_of": [[{"ball": "red"}, {"ball": "blue"}], [{"ball": "green"}]]}


@pytest.mark.parametrize(
    "steps",
    [
        (roll("red", "blue"), ball("red"), ball("blue")),
        (roll("red", "blue"), ball("blue"), ball("red")),
        (roll("red", "red", "blue"), ball("red", times=2), ball("blue")),
        (roll("red", "blue"), ("expect", {"ball": ["blue", "red"]})),
        (roll("red"), ball("red", times={"min": 0, "max": 2})),
        (roll("blue"), ball("red", times={"min": 0}), ball("blue")),
        (roll("red", "red", "red"), ball("red", times={"min": 2})),
        (roll("red", "blue"), ANY, ball("red")),
        (roll("blue", "red"), ball("red"), ANY),
        (roll("red"), ("expect", {"ball": {}, "times": {"min": 0, "max": 2}}), ball("red")),
        (roll("red", "blue", "red"), ("expect", {"ball": {}, "times": 2}), ball("red")),
        (roll("red", "blue", "green"), ANY, ball("red", times={"min": 0}), ball("green")),
        (roll("transparent"), NOTHING),
        (roll("transparent"), ball("transparent")),
        (roll("red", "blue"), ("expect", EITHER)),
        (roll("green"), ("expect", EITHER)),
        (roll("green", "pink"), ("expect", EITHER), ball("pink")),
        (LATER, NOTHING),
        (LATER, ball("red", within="10s")),
        (LATER, ball("red", within="10s", not_before="10s")),
        (LATER, ("advance", "10s"), ball("red")),
        (LATER, ("advance", "9s"), NOTHING, ("advance", "1s"), ball("red")),
        (LATER, ("advance", "9s"), ball("red", within="1s")),
        (roll_late("red"), ball("red")),
        (roll_late("red", "blue"), ball("blue"), ball("red")),
        (roll_late("red", "blue"), ball("red"), ball("blue")),
        (roll("red"), ball("red"), ("expect", {"colour_count": 1})),
        (NOTHING,),
        (),
    ],
)
def test_what_holds(steps: tuple[tuple[str, Value], ...]) -> None:
    assert play(*steps).finished


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ((roll("red"), NOTHING), "not expected after roll ['red']: a red ball"),
        ((roll("red"),), "not expected after roll ['red']: a red ball"),
        ((roll_late("blue", "red"), ball("red")), "not expected after roll_late ['blue', 'red']: a blue ball"),
        ((roll_late("blue"), ball("red")), "red ball did not come after roll_late ['blue']"),
        ((roll("red", "red"), ball("red")), "not expected after roll ['red', 'red']: a red ball"),
        ((roll("blue"), ball("red")), "red ball did not come after roll ['blue']"),
        ((roll("red"), ball("red"), roll("blue"), ball("red")), "red ball did not come after roll ['blue']"),
        ((roll("red"), ball("red", times=2)), "2 times red ball did not come after"),
        ((roll("red"), ball("red", times={"min": 2})), "2 to any number of times red ball did not come after"),
        ((roll("red", "red", "red"), ball("red", times={"max": 2})), "not expected after"),
        ((roll("blue", "blue"), ANY, ball("red")), "red ball did not come after"),
        ((roll("red", "red", "red"), ANY, ball("red")), "not expected after"),
        ((roll("red"), ("expect", EITHER)), "blue ball did not come after roll ['red']"),
        ((roll("red", "blue", "green"), ("expect", EITHER)), "not expected after"),
        ((LATER, ball("red")), "red ball did not come after later"),
        ((LATER, ball("red", within="9s")), "red ball did not come after later"),
        ((LATER, ball("red", within="10s", not_before="11s")), "came too early after later"),
        ((roll("red"), ball("red", not_before="1s")), "came too early after roll"),
        ((LATER, ("advance", "10s")), "not expected after advance 10s: a red ball"),
        ((("later", {"colour": "blue", "in": "5s"}), LATER, ball("red", within="1m")), "not expected after later"),
        ((("expect", {"colour_count": 1}),), "the count is not what it must be"),
        ((("stick", None),), "a timer is due that never fires"),
        ((ball("red"),), "red ball did not come"),
    ],
)
def test_what_does_not_hold(steps: tuple[tuple[str, Value], ...], reason: str) -> None:
    world = Balls()
    with pytest.raises(SpecBrokenError) as caught:
        play(*steps, world=world)
    assert reason in caught.value.reason
    assert not world.finished


def test_what_is_expected_and_observed_is_told() -> None:
    with pytest.raises(SpecBrokenError) as caught:
        play(roll("blue", "pink"), ball("red"), ball("pink"))
    assert caught.value.expected == "red ball; pink ball"
    assert caught.value.observed == "a blue ball; a pink ball"


@pytest.mark.parametrize("allow", [["ball"], [{"ball": "red"}], [{"ball": ["blue", "red"]}]])
def test_what_is_allowed_may_come_any_number_of_times(allow: list[Value]) -> None:
    assert play(roll("red", "red"), roll("green"), ball("green"), roll(), allow=allow).finished


def test_what_is_allowed_does_not_stand_for_what_is_expected() -> None:
    with pytest.raises(SpecBrokenError, match="green ball did not come"):
        play(roll("red"), ball("green"), allow=["ball"])


def test_the_step_at_fault_is_known() -> None:
    world = Balls()
    with pytest.raises(SpecBrokenError):
        play(roll("red"), ball("red"), roll("blue"), ball("red"), world=world)
    assert world.step == 4


def test_an_observation_is_taken_once() -> None:
    with pytest.raises(SpecBrokenError, match="red ball did not come after advance 1s"):
        play(roll("red"), ball("red"), ("advance", "1s"), ball("red"))


def test_a_death_is_the_world_s_to_judge() -> None:
    assert play(("die", None)).deaths == 1


def test_a_timer_that_is_due_at_the_start_is_found() -> None:
    world = Balls()
    world.stuck = True
    with pytest.raises(SpecBrokenError) as caught:
        play(world=world)
    assert (caught.value.expected, caught.value.observed) == (
        "next_timer after now, or null",
        "next_timer 0 ms from now",
    )


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ((("jump", None),), "a device vector has no verb jump"),
        ((("expect", {"cube": "red"}),), "a device vector has no expectation cube"),
        ((("expect", "ball"),), "expect needs a kind and its argument"),
        ((("expect", {"any_of": ["ball"]}),), "any_of holds lists of expectations"),
        ((("later", {"colour": "red", "in": 5}),), "in must be a text"),
    ],
)
def test_what_no_vector_may_say(steps: tuple[tuple[str, Value], ...], reason: str) -> None:
    with pytest.raises(VectorError, match=reason):
        play(*steps)


def test_within_stops_at_the_first_match() -> None:
    world = play(LATER, ("later", {"colour": "blue", "in": "20s"}), ball("red", within="1m"))
    assert world.now - EPOCH == 10_000
    assert [at for at, _ in world.timers] == [EPOCH + 20_000]
