"""May an AI answer here at all."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.unit.samples import NOW, account, event
from worker import scope
from worker.model import Scope
from worker.policy import Reason

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
    """Account, then all of AI, then the place."""
    ending = scope.closed(event(scope=where), account(**settings), NOW)

    assert (ending.reason_code if ending else None) == reason


@pytest.mark.parametrize(("age_s", "late"), [(-5.0, False), (0.0, False), (60.0, False), (60.001, True)])
def test_an_old_event_gets_no_reply(age_s: float, late: bool) -> None:
    """Counted from its arrival, which no publisher can choose."""
    now = NOW + timedelta(seconds=age_s)
    old = event(created_at=NOW - timedelta(days=9))
    ending = scope.closed(old, account(reply_max_age_s=60.0), now)

    assert (ending is not None) == late
    assert ending is None or (ending.reason_code, ending.confidence) == (Reason.TOO_LATE, 1.0)
