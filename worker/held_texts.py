"""Texts that are not sent: which replies wait for a person's approval, and what is kept of the others."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from worker.assessment import cited_sources
from worker.endings import Draft, Ending, silent_ending
from worker.model import Account, BudgetAction, BudgetReached, Decision, HeldDraft, HeldKind, ReplyMode
from worker.reasons import Reason

SENDS_DRAFT: Final = (Reason.REPLIED, Reason.PARTIAL_REPLY, Reason.DRAFT_CHECKED)
"""Endings whose reply is the draft, or a part of it."""
NOT_KEPT: Final = (Reason.MESSAGE_WITHDRAWN,)
"""The author deleted the message: its draft is not kept either."""


def for_approval(ending: Ending, account: Account, budget: BudgetReached | None = None) -> Ending:
    """The ending, or an ending that holds its reply until a person approves the reply.

    ``budget`` is the account's budget that is spent, if there is one.
    """
    if ending.reply is None:
        return ending
    if account.reply_mode is ReplyMode.AUTO or _is_automatic(ending, account):
        return _over_budget(ending, budget)
    sentence = f"the account wants replies approved; without that: {ending.reason_code}"
    waiting = silent_ending(Reason.HELD_FOR_APPROVAL, sentence, confidence=ending.confidence)
    return replace(waiting, degraded=ending.degraded, draft=ending.draft, withheld=ending)


def _over_budget(ending: Ending, budget: BudgetReached | None) -> Ending:
    """The ending, or an ending that holds its reply because a budget is spent."""
    if budget is None or budget.action is not BudgetAction.SUGGEST:
        return ending
    sentence = f"{budget.sentence}; without that: {ending.reason_code}"
    waiting = silent_ending(Reason.HELD_FOR_BUDGET, sentence, confidence=ending.confidence)
    return replace(waiting, degraded=ending.degraded, draft=ending.draft, withheld=ending)


def _is_automatic(ending: Ending, account: Account) -> bool:
    """Whether the account lets this reply pass without approval."""
    if ending.reason_code in account.auto_reasons:
        return True
    assessment, least = ending.draft.assessment, account.auto_from_confidence
    measured = ending.reason_code in SENDS_DRAFT and assessment is not None and assessment.measured
    return measured and least is not None and ending.confidence >= least


def held_drafts(ending: Ending) -> tuple[HeldDraft, ...]:
    """The texts of an event that are not sent, the most useful first.

    A draft that a guard flagged is sealed with its exchange instead.
    """
    if ending.quarantine or ending.reason_code in NOT_KEPT:
        return ()
    last, found = ending.withheld or ending, []
    is_reply = last.reply is not None and last.reason_code in SENDS_DRAFT
    if ending.withheld is not None and last.reply is not None:
        draft = last.draft if is_reply else None
        found.append(_held(HeldKind.REPLY, last.reply, draft, last.draft))
    if not is_reply and last.draft.reply:
        found.append(_held(HeldKind.DRAFT, last.draft.reply, last.draft, last.draft))
    loser = last.draft.loser
    if loser is not None and loser.reply:
        found.append(_held(HeldKind.RECHECK, loser.reply, loser, loser))
    return tuple(found)


def with_reply(decision: Decision) -> tuple[HeldDraft, ...]:
    """The held texts of a decision whose reply is discarded at its commit."""
    if decision.reply is None:
        return decision.held
    reply = HeldDraft(
        kind=HeldKind.REPLY,
        text=decision.reply,
        draft=decision.draft,
        sources=decision.sources,
        passages=decision.passages,
        assessment=decision.assessment,
    )
    return (reply, *decision.held)


def held_until(account: Account, now: datetime) -> datetime:
    """When texts that are held now are deleted."""
    return now + timedelta(days=account.keep_drafts_days)


def sealed_until(account: Account, now: datetime) -> datetime:
    """When an exchange that is flagged now is deleted from the quarantine."""
    return now + timedelta(days=account.keep_quarantine_days)


def _held(kind: HeldKind, text: str, draft: Draft | None, rests_on: Draft) -> HeldDraft:
    return HeldDraft(
        kind=kind,
        text=text,
        draft=draft.text if draft else None,
        sources=cited_sources(draft.text, draft.passages) if draft else (),
        passages=rests_on.passages,
        assessment=rests_on.assessment,
    )
