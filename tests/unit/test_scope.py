"""May an AI answer here at all."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.support.samples import NOW, account, event
from worker import scope
from worker.model import Scope
from worker.reasons import Reason

OFF = {"ai_control_enabled": False, "ai_enabled_for_chats": False, "ai_enabled_for_comments": False}


@pytest.mark.parametrize(
    ("settings", "where", "reason"),
    [
        ({}, Scope.CHAT, None),
        ({}, Scope.COMMENT, None),
        ({"version": 0}, Scope.CHAT, Reason.UNKNOWN_ACCOUNT),
        ({"version": 0, **OFF}, Scope.COMMENT, Reason.UNKNOWN_ACCOUNT),
        (OFF, Scope.CHAT, Reason.AI_DISABLED),
        ({"ai_control_enabled": False}, Scope.COMMENT, Reason.AI_DISABLED),
        ({"ai_enabled_for_chats": False}, Scope.CHAT, Reason.CHATS_DISABLED),
        ({"ai_enabled_for_chats": False}, Scope.COMMENT, None),
        ({"ai_enabled_for_comments": False}, Scope.COMMENT, Reason.COMMENTS_DISABLED),
        ({"ai_enabled_for_comments": False}, Scope.CHAT, None),
    ],
)
def test_the_switches_decide_in_their_order(
    settings: dict[str, object], where: Scope, reason: Reason | None
) -> None:
    """The order is: account, the AI switch, chats or comments."""
    ending = scope.closed_ending(event(scope=where), account(**settings), NOW)

    assert (ending.reason_code if ending else None) == reason


@pytest.mark.parametrize(("age_s", "late"), [(-5.0, False), (0.0, False), (60.0, False), (60.001, True)])
def test_a_message_that_waited_gets_no_reply(age_s: float, late: bool) -> None:
    """The age counts from the time of writing."""
    now = NOW + timedelta(seconds=age_s)
    ending = scope.closed_ending(event(), account(reply_max_age_s=60.0), now)

    assert (ending is not None) == late
    assert ending is None or (ending.reason_code, ending.confidence) == (Reason.TOO_LATE, 1.0)


def test_a_backfill_gets_no_replies() -> None:
    """A message of twelve days ago is old, though it arrived now."""
    old = event(created_at=NOW - timedelta(days=12))
    ending = scope.closed_ending(old, account(), NOW)

    assert ending is not None
    assert ending.reason == (
        "GUARDRAIL_PRE_BLOCKED: written 1036800 s ago and arrived 0 s ago, reply_max_age_s is 86400"
    )


@pytest.mark.parametrize(("age_s", "late"), [(60.0, False), (60.001, True)])
def test_a_created_at_after_the_arrival_is_ignored(age_s: float, late: bool) -> None:
    """A publisher whose clock is a day ahead does not make its messages younger."""
    ahead = event(created_at=NOW + timedelta(days=1))
    ending = scope.closed_ending(ahead, account(reply_max_age_s=60.0), NOW + timedelta(seconds=age_s))

    assert (ending is not None) == late
