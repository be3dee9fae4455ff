"""The relay that the kit plays for a device under test: alice's inbox, her sessions, and how pushes are answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from conformance.engine.argument import Argument
from conformance.outcome import VectorError
from reference_impl.wire.content import Content
from reference_impl.wire.json_types import Json, JsonObject

FIRST_BLOB_ID = 7001


@dataclass(slots=True)
class Blob:
    """One blob of the inbox. `sent_on` are the sessions it was sent on.

    `usable`: nothing is wrong with it but, it may be, its End-to-End Version or its age.
    `fault`: how its seal was spoilt.
    """

    label: str
    blob_id: str
    recipient_pub: str
    sender: str
    envelope: Json
    content: Content
    version: int
    usable: bool
    fault: str = ""
    acked: bool = False
    sent_on: list[str] = field(default_factory=list)


@dataclass(slots=True)
class WaitingPush:
    """A push that the relay has not answered. `number` is that of the request."""

    push: int
    number: int
    message_id: str
    recipient: str


@dataclass(frozen=True, slots=True)
class PushAnswer:
    """How the relay answers: `hold`, or an outcome of the protocol, with the code of a refusal."""

    OUTCOMES: ClassVar[Mapping[str, str]] = {"lose": "lost"}
    """Verbs of a vector that the protocol has another word for."""

    outcome: str
    code: str = ""

    @classmethod
    def read(cls, value: Json) -> PushAnswer:
        argument = Argument(value, "answer")
        if "refuse" in argument:
            return cls("refused", argument.text("refuse"))
        answer = argument.text("answer")
        return cls(cls.OUTCOMES.get(answer, answer))

    def message(self) -> JsonObject:
        return {"outcome": self.outcome, "code": self.code} if self.code else {"outcome": self.outcome}


class KitRelay:
    """State only; the world sends and records."""

    def __init__(self) -> None:
        self.connected = False
        self.versions = (1, 1)
        self.sessions: dict[str, str] = {}
        self.blobs: dict[str, Blob] = {}
        self.waiting: list[WaitingPush] = []
        self.acks_arrive = True
        self._answers: dict[str, PushAnswer] = {}
        self._default = PushAnswer("hold")
        self._by_id: dict[str, Blob] = {}
        self._opened = 0

    def speaks(self, version: int) -> bool:
        low, high = self.versions
        return low <= version <= high

    def unsupported(self) -> JsonObject:
        return {"outcome": "unsupported", "min": self.versions[0], "max": self.versions[1]}

    # -- sessions and blobs -------------------------------------------------------------------------------------

    def open_session(self, device: str) -> str:
        self._opened += 1
        session = f"session-{self._opened}"
        self.sessions[session] = device
        return session

    def session_of(self, device: str) -> str:
        """The latest Receive Session of that device; empty if it has none."""
        return next((name for name, owner in reversed(self.sessions.items()) if owner == device), "")

    def put(self, blob: Blob) -> None:
        if blob.label in self.blobs:
            raise VectorError(f"two blobs are called {blob.label}")
        self.blobs[blob.label] = blob
        self._by_id[blob.blob_id] = blob

    def next_blob_id(self) -> str:
        return str(FIRST_BLOB_ID + len(self._by_id))

    def blob_of(self, blob_id: str) -> Blob | None:
        return self._by_id.get(blob_id)

    def unacked(self, device: str) -> Iterator[Blob]:
        """In arrival order."""
        return (blob for blob in self.blobs.values() if not blob.acked and blob.recipient_pub == device)

    def check_order(self, blob: Blob, session: str) -> None:
        """A relay that keeps the spec sends what is older first (RLY-003)."""
        for older in self.unacked(blob.recipient_pub):
            if older is blob:
                return
            if session not in older.sent_on:
                raise VectorError(
                    f"{blob.label} would overtake {older.label}, which this Receive Session has not got yet; "
                    f"deliver_again {older.label} first, or call the vector hostile"
                )

    # -- pushes -------------------------------------------------------------------------------------------------

    def answer_pushes(self, argument: Argument) -> None:
        recipient = argument.text("to", "")
        answer = PushAnswer.read(argument.get("answer") if "answer" in argument else argument.value)
        if recipient:
            self._answers[recipient] = answer
        else:
            self._default = answer
            self._answers.clear()

    def answer_for(self, recipient: str) -> PushAnswer:
        return self._answers.get(recipient, self._default)

    def take_waiting(self, message_id: str, recipient: str) -> WaitingPush | None:
        """The oldest push of that message that waits; `recipient` empty for any."""
        for waiting in self.waiting:
            if waiting.message_id == message_id and recipient in ("", waiting.recipient):
                self.waiting.remove(waiting)
                return waiting
        return None

    def crash(self) -> None:
        """The device is gone, and its connection with it."""
        self.sessions.clear()
        self.waiting.clear()
