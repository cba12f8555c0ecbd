"""Scope: the account's switches and the event's age."""

from __future__ import annotations

from datetime import datetime, timedelta

from worker import endings
from worker.endings import Ending
from worker.model import Account, BudgetAction, BudgetReached, Event, Scope
from worker.reasons import Reason


def closed_ending(event: Event, account: Account, now: datetime) -> Ending | None:
    """The ending when this event is out of scope, else None."""
    if account.version == 0:
        return endings.silent_ending(
            Reason.UNKNOWN_ACCOUNT, f"account {event.user_id!r} has no settings, AI is off"
        )
    if not account.ai_control_enabled:
        return endings.silent_ending(Reason.AI_DISABLED, "ai_control_enabled is false for this account")
    if event.scope is Scope.CHAT and not account.ai_enabled_for_chats:
        return endings.silent_ending(Reason.CHATS_DISABLED, "ai_enabled_for_chats is false for this account")
    if event.scope is Scope.COMMENT and not account.ai_enabled_for_comments:
        return endings.silent_ending(
            Reason.COMMENTS_DISABLED, "ai_enabled_for_comments is false for this account"
        )
    return late_ending(event, account, now)


def budget_ending(budget: BudgetReached | None) -> Ending | None:
    """The ending when a budget is spent and the account wants silence then, else None."""
    if budget is None or budget.action is not BudgetAction.SILENCE:
        return None
    return endings.silent_ending(Reason.BUDGET_SPENT, budget.sentence)


def late_ending(event: Event, account: Account, now: datetime) -> Ending | None:
    """The ending when the message is too old for a reply, else None.

    ``created_at`` counts when it is before the arrival, so that a backfill gets no replies; otherwise the
    publisher's clock is wrong and the arrival counts.
    """
    if now <= last_moment(event, account):
        return None
    age_s, waited_s = ((now - moment).total_seconds() for moment in (event.written_at, event.received_at))
    return endings.silent_ending(
        Reason.TOO_LATE,
        f"written {age_s:.0f} s ago and arrived {waited_s:.0f} s ago, "
        f"reply_max_age_s is {account.reply_max_age_s:.0f}",
    )


def last_moment(event: Event, account: Account) -> datetime:
    """The last moment at which a reply may be sent."""
    return event.written_at + timedelta(seconds=account.reply_max_age_s)
