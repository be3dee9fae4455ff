"""What holds of every run of a device, whatever the vector is about; judged in this order."""

from __future__ import annotations

from conformance.delivery.device_membership_promises import (
    founding_is_told,
)
from conformance.delivery.device_receiving_promises import (
    acks_follow_handling,
    handled_is_never_handled_again,
    handler_gets_what_was_sent,
    handlers_run_one_at_a_time,
    held_blobs_give_way_when_full,
    held_blobs_give_way_with_an_issue,
    nothing_is_pulled_without_handler,
    sender_order_is_kept,
)
from conformance.delivery.device_sending_promises import (
    failures_are_reported_once,
    nothing_expires_early,
    outbox_keeps_its_order,
    pushes_are_named_by_send,
    pushes_carry_their_send,
    relay_learns_nothing_more,
    sends_are_pushed_in_order,
    sequences_are_used_once,
)

PROMISES = (
    sequences_are_used_once,
    pushes_are_named_by_send,
    pushes_carry_their_send,
    nothing_expires_early,
    outbox_keeps_its_order,
    sends_are_pushed_in_order,
    failures_are_reported_once,
    relay_learns_nothing_more,
    handlers_run_one_at_a_time,
    handler_gets_what_was_sent,
    acks_follow_handling,
    handled_is_never_handled_again,
    sender_order_is_kept,
    nothing_is_pulled_without_handler,
    held_blobs_give_way_when_full,
    held_blobs_give_way_with_an_issue,
    founding_is_told,
)
