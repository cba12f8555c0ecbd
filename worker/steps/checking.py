"""A check: the program's own draft in place of a model's, and the endings that only checks have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from worker import conversation_endings
from worker.assessment import renumbered
from worker.endings import MESSAGE, REPLY, Draft, Ending, silent_ending
from worker.model import Event, GivenCheck, Message, Passage
from worker.reasons import Reason
from worker.reply_content import without_invisible
from worker.steps import context, drafts, guards
from worker.steps.run import GuardedRun


def given_draft(event: Event, passages: tuple[Passage, ...] = ()) -> Draft:
    """The draft of a check, cleaned as a model's is; empty where the message alone is checked.

    Its citation marks count the passages that are left, as a model's do.
    """
    check = event.check or GivenCheck()
    text = without_invisible(check.draft or "")[0]
    return Draft(text=renumbered(text, passages), passages=passages)


def message_ending() -> Ending:
    """The ending of a check without a draft, whose message passed the guards."""
    return silent_ending(Reason.MESSAGE_CHECKED, "rules and moderation passed the message")


def unassessed_ending(draft: Draft) -> Ending:
    """The ending of a draft that passed the guards and has no passages to be assessed by."""
    sentence = "rules and moderation passed the draft; it was not assessed, as no passages were given"
    ending = silent_ending(Reason.DRAFT_CHECKED, sentence)
    return replace(ending, reply=draft.reply, draft=draft)


def ruled_ending(run: GuardedRun) -> Ending | None:
    """The ending of a check by what needs no call: scope, owner, rules of both texts, content of the draft.

    The content of a draft that has passages is read with these, see ``drafts.unsent_ending``.
    """
    event, draft = run.case.event, given_draft(run.case.event)
    check = event.check or GivenCheck()
    ending = (
        guards.scope_ending(run)
        or (guards.rule_ending(run, event.text, MESSAGE) if event.text else None)
        or conversation_endings.owned_ending(event, run.case.conversation)
    )
    if ending is None and check.draft is not None:
        if check.is_assessed:
            ending = guards.rule_ending(run, draft.reply, REPLY)
        else:
            ending = drafts.unsent_ending(run, draft, ())
    return replace(ending, draft=draft) if ending else None


def content_ending(
    run: GuardedRun, passages: tuple[Passage, ...], history: Sequence[Message]
) -> Ending | None:
    """The ending of a draft whose content only the program's own passages and lines can explain."""
    kept = context.with_right_labels(run, Draft(passages=passages))
    draft = given_draft(run.case.event, kept.passages)
    ending = guards.content_ending(run, draft, history)
    return replace(ending, draft=draft) if ending else None
