"""A check: the program's own draft in place of a model's, and the endings that only checks have."""

from __future__ import annotations

from dataclasses import replace

from worker.endings import Draft, Ending, silent_ending
from worker.model import Event, GivenCheck
from worker.reasons import Reason
from worker.reply_content import without_invisible


def given_draft(check: GivenCheck) -> Draft:
    """The draft of a check, cleaned as a model's is; empty where the message alone is checked."""
    return Draft(text=without_invisible(check.draft or "")[0])


def message_ending() -> Ending:
    """The ending of a check without a draft, whose message passed the guards."""
    return silent_ending(Reason.MESSAGE_CHECKED, "rules and moderation passed the message")


def unassessed_ending(draft: Draft) -> Ending:
    """The ending of a draft that passed the guards and has no passages to be assessed by."""
    sentence = "rules and moderation passed the draft; it was not assessed, as no passages were given"
    ending = silent_ending(Reason.DRAFT_CHECKED, sentence)
    return replace(ending, reply=draft.reply, draft=draft)


def with_given_draft(event: Event, ending: Ending) -> Ending:
    """The ending of a check with its draft, where the guards of the message ended it."""
    return ending if event.check is None else replace(ending, draft=given_draft(event.check))
