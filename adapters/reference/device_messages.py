"""The Device's effects as messages to the kit, and the kit's answers as what the Device takes in."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from dataclasses import asdict
from typing import Final

from adapters.reference.jsonrpc import InvalidParamsError, Params, fields, integer, notification, text
from reference_impl.device import effects as fx
from reference_impl.device.device import DeviceStatus
from reference_impl.device.identity import Identity
from reference_impl.wire.content import Member
from reference_impl.wire.json_types import Json, JsonObject

REQUESTS: Final[dict[type[fx.Effect], str]] = {
    fx.OpenReceiveSession: "relay.open_receive_session",
    fx.Push: "relay.push",
    fx.CallHandler: "handler.call",
}

Notice = fx.DeliverAck | fx.NotifyIssue | fx.NotifyEvent
Request = fx.OpenReceiveSession | fx.Push | fx.CallHandler


def request_params(effect: Request) -> JsonObject:
    match effect:
        case fx.Push():
            return {
                "recipient": effect.recipient,
                "envelope": effect.envelope,
                "transport_version": effect.transport_version,
            }
        case fx.CallHandler(message=message):
            body = base64.b64encode(message.body).decode("ascii")
            return {"message": {"id": message.id, "from": member(message.sender), "body": body}}
        case fx.OpenReceiveSession():
            return {"device": effect.device, "transport_version": effect.transport_version}


def notice_message(effect: Notice) -> JsonObject:
    match effect:
        case fx.DeliverAck():
            return notification("relay.deliver_ack", asdict(effect))
        case fx.NotifyIssue(issue=issue):
            return notification("issue", issue_params(issue))
        case fx.NotifyEvent(event=event):
            return notification("event", event_params(event))


def issue_params(issue: fx.Issue) -> JsonObject:
    match issue:
        case fx.Unreadable(reason=reason):
            return {"case": "unreadable", "reason": reason}
        case fx.Unauthorized():
            return {"case": "unauthorized"}
        case fx.HeldForUpgrade(version=version):
            return {"case": "heldForUpgrade", "version": version}
        case fx.HandlerGaveUp(message_id=message_id, error=error):
            return {"case": "handlerGaveUp", "message_id": message_id, "error": error}
        case fx.SendFailed(message_id=message_id, reason=reason):
            return {"case": "sendFailed", "message_id": message_id, "reason": reason}


def event_params(event: fx.Event) -> JsonObject:
    match event:
        case fx.StatusChanged(status=status, reason=reason):
            return {"case": "statusChanged", "status": status, "reason": reason}
        case fx.MembersChanged(members=members):
            return {"case": "membersChanged", "members": member_list(members)}
        case fx.JoinRequest(id=request, name=name):
            return {"case": "joinRequest", "request": {"id": request, "name": name}}
        case fx.ConnectionChanged(connection=changed):
            return {"case": "connectionChanged", "connection": connection(changed)}


def status(status: DeviceStatus) -> JsonObject:
    me = status.me
    return {
        "status": status.status,
        "me": {**member(me), "noise_pub": me.noise_pub, "signing_pub": me.signing_pub},
        "members": member_list(status.members),
        "connection": connection(status.connection),
    }


def member(member: Member) -> JsonObject:
    """The id of a member is its signing key (RCV-006)."""
    return {"id": member.signing_pub, "name": member.name}


def member_list(members: Iterable[Member]) -> list[Json]:
    return [member(one) for one in members]


def connection(connection: fx.Connection) -> JsonObject:
    if connection.state != "relayVersionUnsupported":
        return {"state": connection.state}
    return {"state": connection.state, "min": connection.minimum, "max": connection.maximum}


def push_answer(answer: Params) -> fx.PushAnswer:
    match text(answer, "outcome"):
        case "ack":
            return fx.Accepted()
        case "refused":
            return fx.Refused(text(answer, "code"))
        case "lost":
            return fx.Lost()
        case "unsupported":
            return fx.Unsupported(integer(answer, "min"), integer(answer, "max"))
        case other:
            raise InvalidParamsError(f"{other!r} is not an outcome of a push.")


def session_answer(answer: Params) -> fx.SessionAnswer:
    match text(answer, "outcome"):
        case "opened":
            return fx.Opened(text(answer, "session"))
        case "lost":
            return fx.Lost()
        case "unsupported":
            return fx.Unsupported(integer(answer, "min"), integer(answer, "max"))
        case other:
            raise InvalidParamsError(f"{other!r} is not an outcome of opening a Receive Session.")


def handler_error(answer: Params) -> str | None:
    """What the handler threw, None if it returned."""
    match text(answer, "outcome"):
        case "returned":
            return None
        case "threw":
            return text(answer, "error")
        case other:
            raise InvalidParamsError(f"{other!r} is not an outcome of the handler.")


def identity(params: Params) -> Identity:
    given = fields(params, "identity")
    member = Member(text(given, "noise_pub"), text(given, "signing_pub"), text(given, "name"))
    return Identity(member, text(given, "noise_private"), text(given, "signing_private"))
