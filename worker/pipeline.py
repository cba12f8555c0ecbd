"""What happens to one event, in this order. With its steps the only caller of ports."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from worker import conversation_endings, held_texts, moderation
from worker.assessment import TextsReadOnce, initial_search
from worker.concluding import decision_of
from worker.endings import MESSAGE, Draft, Ending
from worker.escalation import decision_kind
from worker.masking import account_masker
from worker.model import Action, Decision, DecisionKind, EventType, FailurePolicy, GivenCheck, Message
from worker.ports import Ports
from worker.reasons import Reason
from worker.steps import assessing, checking, context, drafts, guards, second_draft, suggesting, window
from worker.steps.ahead import Ahead
from worker.steps.run import EventCase, Run
from worker.trace import EventTrace

REMEMBERED: Final = (
    Reason.OWNED_BY_PEOPLE,
    Reason.BURST_MERGED,
    Reason.TAKEN_OVER,
    Reason.IMAGE_UNCHECKED,
    Reason.ATTACHMENT_UNSEEN,
)
"""Ends before the model is asked, with a message that the next prompt of the conversation must contain."""

STILL_MODERATED: Final = (Reason.TOO_LATE, Reason.BUDGET_SPENT)
"""An edit of an event that is not answered for these reasons changes the history, so it is moderated."""

CONTEXT_FRESH_S: Final = 5.0
"""Age from which the context is read again: above a burst window, below a hold; chosen, not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Context:
    """What a draft is made from; with an ending there is nothing to draft."""

    history: tuple[Message, ...]
    found: Draft = field(default_factory=Draft)
    ending: Ending | None = None


async def decide(case: EventCase, ports: Ports) -> Decision:
    """Decide whether an AI may answer, and with what; after a block no model is asked.

    Raises:
        StorageUnavailable: the history could not be read; nothing was decided, safe to repeat.
    """
    trace = EventTrace(
        event=case.event, account=case.account, clock=ports.clock, conversation=case.conversation
    )
    settled = conversation_endings.earlier_ending(case.event, case.conversation)
    if settled is not None and settled.reason_code is not Reason.MESSAGE_REPEATED:
        return decision_of(trace, settled)
    if settled is None and (typed := conversation_endings.ending_of_type(case.event)) is not None:
        is_kept = case.event.type is EventType.AGENT_MESSAGE and not case.conversation.deleted
        return decision_of(trace, typed, remember=is_kept)
    masker = account_masker(case.account)
    run = Run(case=case, ports=ports, trace=trace, search=initial_search(case.policy), masker=masker)
    if (rated := conversation_endings.feedback_ending(case.event, case.conversation)) is not None:
        return decision_of(trace, await _remark_tested(run, rated), masked=masker.counts)
    if settled is not None:  # the text may be another one, of a publisher that knows no edits
        return decision_of(trace, guards.rule_ending(run, case.event.text, MESSAGE) or settled)
    with TextsReadOnce():
        ending, remember = await _ending(run)
        while ending.edited_text is not None:
            run = run.edited(ending.edited_text)
            ending, remember = await _ending(run)
    return decision_of(run.trace, ending, masked=masker.counts, remember=remember)


async def _remark_tested(run: Run, rated: Ending) -> Ending:
    """The ending of feedback, with the rule that its text matches: pages cover the text by that.

    Nothing depends on the result, so nothing is held for a moderator.
    """
    text, closed = run.case.event.text, guards.scope_ending(run)
    if not text or (closed is not None and closed.reason_code not in STILL_MODERATED):
        return rated
    account = moderation.with_failure(run.case.account, FailurePolicy.ALLOW)
    lenient = replace(run, case=replace(run.case, account=account))
    found = guards.rule_ending(run, text, MESSAGE) or await guards.moderation_ending(lenient, text, MESSAGE)
    return replace(rated, matched_rule=found.matched_rule) if found else rated


async def _ending(run: Run) -> tuple[Ending, bool]:
    """The ending of a message, an edit or a check, and whether the history keeps the text."""
    case = run.case
    if case.event.check is not None:
        ending = await _check_ending(run, case.event.check)
        return held_texts.for_approval(ending, case.account, case.budget), False
    read = await _moderated_context(run)
    if isinstance(read, Ending):
        return read, read.reason_code in REMEMBERED and bool(case.event.text)
    ending = await suggesting.with_questions(run, await _answer(run, read))
    ending = held_texts.for_approval(ending, case.account, case.budget)
    return ending, not ending.quarantine


async def _moderated_context(run: Run) -> _Context | Ending:
    """The context of a message that may be answered, read beside its moderation; else its ending."""
    text, edited = run.case.event.text, conversation_endings.edited_ending(run.case.event)
    closed = guards.scope_ending(run)
    if closed is not None and edited is None:
        return closed
    ending = (
        guards.rule_ending(run, text, MESSAGE)
        or conversation_endings.owned_ending(run.case.event, run.case.conversation)
        or run.case.shed
    )
    if ending is not None:
        return ending
    if edited is not None:
        is_moderated = closed is None or closed.reason_code in STILL_MODERATED
        return (await guards.moderation_ending(run, text, MESSAGE) if is_moderated else None) or edited
    beside = run.beside()
    history = await context.history(beside)
    async with Ahead(run=run, beside=beside, steps=_context(beside, history)) as context_ahead:
        ending = (
            await window.moderation_ending(run, history)
            or await guards.unseen_attachment_ending(run)
            or await guards.merged_ending(run)
            or guards.too_late_ending(run)
        )
        if ending is not None:
            return ending
        if beside.trace.age_s <= CONTEXT_FRESH_S:
            return await context_ahead.value()
    return await _context(run, await context.history(run))


async def _context(run: Run, history: tuple[Message, ...]) -> _Context:
    """The conversation and what the account's documents say, or the ending that follows from these."""
    if (
        run.case.policy.gate
        and (ended := conversation_endings.acknowledged_ending(run.case.event, history)) is not None
    ):
        return _Context(history=history, ending=ended)
    if (looped := guards.looped_ending(run, history)) is not None:
        return _Context(history=history, ending=looped)
    found = await context.retrieve_first(run, Draft(), history)
    refused = assessing.refused_early(run, found, history)
    return _Context(history=history, found=context.with_right_labels(run, found), ending=refused)


async def _answer(run: Run, read: _Context) -> Ending:
    """From a clean message to an ending."""
    if read.ending is not None:
        return await _unless_overtaken(run, read.ending)
    draft = await drafts.first(run, read.found, read.history)
    if isinstance(draft, Ending):
        return await _unless_overtaken(run, draft)
    if draft.assessed.action is Action.RECHECK:
        draft = await drafts.rechecked(run, draft, read.history)
    if second_draft.is_needed(run, draft):
        draft = await drafts.drafted_again(run, draft, read.history)
    ending = assessing.ending(run, draft)
    if (blocked := await drafts.part_ending(run, ending, read.history)) is not None:
        return await _unless_overtaken(run, replace(blocked, draft=draft))
    late = guards.too_late_ending(run) or await guards.overtaken_ending(run)
    return replace(late, draft=draft) if late else ending


async def _unless_overtaken(run: Run, ending: Ending) -> Ending:
    """An ending without a draft, unless it speaks or hands over and newer events forbid that."""
    case = run.case
    hands_over = decision_kind(case.event, case.account, case.conversation, ending) is DecisionKind.ESCALATE
    if ending.quarantine or not (ending.reply is not None or hands_over):
        return ending
    late = await guards.overtaken_ending(run)
    return replace(late, draft=ending.draft) if late else ending


async def _check_ending(run: Run, check: GivenCheck) -> Ending:
    """The ending of a check: the guards of message and draft, and the draft's assessment by passages."""
    if (ruled := checking.ruled_ending(run)) is not None:
        return ruled
    history, beside = await context.history(run), run.beside()
    async with Ahead(run=run, beside=beside, steps=_given(beside, check, history)) as given_ahead:
        ending = await window.moderation_ending(run, history) if run.case.event.text else None
        if ending is not None and ending.quarantine:
            return replace(ending, draft=checking.given_draft(run.case.event))
        given = await given_ahead.value()
    if check.draft is not None and check.is_assessed:
        ending = drafts.unsent_ending(run, given, history) or ending  # what is found goes before an outage
    if ending is not None:
        return replace(ending, draft=given)
    if check.draft is None:
        return checking.message_ending()
    return await _draft_ending(run, check, given, history)


async def _given(run: Run, check: GivenCheck, history: tuple[Message, ...]) -> Draft:
    """The draft of a check with the passages that it is assessed by."""
    event = run.case.event
    if not check.is_assessed:
        return checking.given_draft(event)
    found = context.with_right_labels(run, await context.retrieve_first(run, Draft(), history))
    return replace(found, text=checking.given_draft(event, found.passages).text)


async def _draft_ending(run: Run, check: GivenCheck, given: Draft, history: tuple[Message, ...]) -> Ending:
    """The ending of a program's draft by its moderation and, with passages, its assessment."""
    if not check.is_assessed:
        passed = await drafts.moderated(run, given)
        return passed if isinstance(passed, Ending) else checking.unassessed_ending(passed)
    draft = await drafts.assessed(run, given, history)
    if isinstance(draft, Ending):
        return draft
    if draft.assessed.action is Action.RECHECK:
        draft = assessing.better(draft, None)
    ending = assessing.ending(run, draft)
    blocked = await drafts.part_ending(run, ending, history)
    return replace(blocked, draft=draft) if blocked else ending
