"""May an AI answer here at all: the account's switches and the event's age."""

from __future__ import annotations

from datetime import datetime

from worker import policy
from worker.model import Account, Event, Scope
from worker.policy import Ending, Reason


def closed(event: Event, account: Account, now: datetime) -> Ending | None:
    """The ending when this event is out of scope, else None."""
    if account.version == 0:
        return policy.silent(
            Reason.UNKNOWN_ACCOUNT, f"no ai_rules row for account {event.user_id!r}, AI is off"
        )
    if not account.ai_control_enabled:
        return policy.silent(Reason.AI_DISABLED, "ai_control_enabled is false for this account")
    if event.scope is Scope.CHAT and not account.ai_enabled_for_chats:
        return policy.silent(Reason.CHATS_DISABLED, "ai_enabled_for_chats is false for this account")
    if event.scope is Scope.COMMENT and not account.ai_enabled_for_comments:
        return policy.silent(Reason.COMMENTS_DISABLED, "ai_enabled_for_comments is false for this account")
    return late(event, account, now)


def late(event: Event, account: Account, now: datetime) -> Ending | None:
    """The ending when a reply would come too long after the event, else None."""
    age_s = (now - event.received_at).total_seconds()
    if age_s > account.reply_max_age_s:
        return policy.silent(
            Reason.TOO_LATE,
            f"{age_s:.0f} s old at its turn, reply_max_age_s is {account.reply_max_age_s:.0f}",
        )
    return None
