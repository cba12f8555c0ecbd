"""What happens to one event, in this order. With its steps the only caller of ports."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeAlias

from worker import conversation_endings, held_texts, moderation
from worker.assessment import initial_search, recheck_search, texts_read_once
from worker.cancellation import all_of
from worker.concluding import decision_of
from worker.endings import MESSAGE, REPLY, Draft, Ending, silent_ending
from worker.escalation import decision_kind
from worker.masking import account_masker
from worker.model import Action, Decision, DecisionKind, EventType, GivenCheck, Message
from worker.ports import Ports
from worker.reasons import Reason
from worker.steps import (
    assessing,
    checking,
    context,
    drafting,
    guards,
    second_draft,
    several_models,
    suggesting,
    window,
)
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

Lines: TypeAlias = "asyncio.Future[tuple[Message, ...]]"
"""The stored history as soon as it is read, while the search goes on."""


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
    with texts_read_once():
        lines: Lines = asyncio.get_running_loop().create_future()
        steps = partial(_context, lines=lines)
        async with Ahead(run=run, steps=steps, fresh_s=CONTEXT_FRESH_S) as context_ahead:
            blocked = await _blocked(run, context_ahead, lines)
            if blocked is not None:
                kept = blocked.reason_code in REMEMBERED and case.event.type is not EventType.CHECK
                blocked = checking.with_given_draft(case.event, blocked)
                remember = kept and bool(case.event.text)
                return decision_of(trace, blocked, masked=masker.counts, remember=remember)
            ending = conversation_endings.edited_ending(case.event) or await _answer(run, context_ahead)
        ending = held_texts.for_approval(
            await suggesting.with_questions(run, ending), case.account, case.budget
        )
    remember = not ending.quarantine and case.event.type is EventType.MESSAGE
    return decision_of(trace, ending, masked=masker.counts, remember=remember)


async def _remark_tested(run: Run, rated: Ending) -> Ending:
    """The ending of feedback, with the rule that its text matches: pages cover the text by that.

    Nothing depends on the result, so nothing is held for a moderator.
    """
    text, closed = run.case.event.text, guards.scope_ending(run)
    if not text or (closed is not None and closed.reason_code not in STILL_MODERATED):
        return rated
    lenient = replace(run, case=replace(run.case, account=moderation.without_holds(run.case.account)))
    found = guards.rule_ending(run, text, MESSAGE) or await guards.moderation_ending(lenient, text, MESSAGE)
    return replace(rated, matched_rule=found.matched_rule) if found else rated


@dataclass(frozen=True, slots=True, kw_only=True)
class _Context:
    """What a draft is made from; with an ending there is nothing to draft."""

    history: tuple[Message, ...]
    found: Draft = field(default_factory=Draft)
    ending: Ending | None = None


async def _blocked(run: Run, context_ahead: Ahead[_Context], lines: Lines) -> Ending | None:
    """The ending of an event that no model is asked to answer; its context is read beside its moderation."""
    text, edited = run.case.event.text, run.case.event.type is EventType.MESSAGE_EDITED
    closed = guards.scope_ending(run)
    if closed is not None and not edited:
        return closed
    if not text and run.case.event.check is not None:  # a draft alone
        return conversation_endings.owned_ending(run.case.event, run.case.conversation)
    ending = (
        guards.rule_ending(run, text, MESSAGE)
        or conversation_endings.owned_ending(run.case.event, run.case.conversation)
        or run.case.shed
    )
    if ending is not None or (closed is not None and closed.reason_code not in STILL_MODERATED):
        return ending
    if edited:
        return await guards.moderation_ending(run, text, MESSAGE)
    context_ahead.begin()
    earlier: tuple[str, ...] = ()
    if window.is_judged_with_earlier(run):
        history = await context_ahead.early(lines)
        earlier = window.earlier_texts(run, history)
    return (
        await window.moderation_ending(run, earlier)
        or await guards.unseen_attachment_ending(run)
        or await guards.merged_ending(run)
        or guards.too_late_ending(run)
    )


async def _context(run: Run, lines: Lines) -> _Context:
    """The conversation and what the account's documents say, or the ending that follows from these."""
    history = await context.history(run)
    if not lines.done():
        lines.set_result(history)
    if (check := run.case.event.check) is not None:
        given = checking.given_draft(check)
        if check.is_assessed:
            given = context.with_right_labels(run, await context.retrieve_first(run, given, history))
        return _Context(history=history, found=given)
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


async def _answer(run: Run, context_ahead: Ahead[_Context]) -> Ending:
    """From a clean message to an ending."""
    read = await context_ahead.value()
    if run.case.event.check is not None:
        return await _checked(run, run.case.event.check, read)
    if read.ending is not None:
        return await _unless_overtaken(run, read.ending)
    draft = await _assessed_draft(run, read.found, read.history)
    if isinstance(draft, Ending):
        return await _unless_overtaken(run, draft)
    if draft.assessed.action is Action.RECHECK:
        draft = await _rechecked(run, draft, read.history)
    if second_draft.is_needed(run, draft):
        draft = await _drafted_again(run, draft, read.history)
    ending = assessing.ending(run, draft)
    if (blocked := await _part_blocked(run, ending, read.history)) is not None:
        return await _unless_overtaken(run, replace(blocked, draft=draft))
    late = guards.too_late_ending(run) or await guards.overtaken_ending(run)
    return replace(late, draft=draft) if late else ending


async def _checked(run: Run, check: GivenCheck, read: _Context) -> Ending:
    """The ending of a check whose message passed: the draft's guards, and its assessment by passages."""
    if check.draft is None:
        return checking.message_ending()
    if not check.is_assessed:
        given = await _moderated_draft(run, read.found, read.history)
        return given if isinstance(given, Ending) else checking.unassessed_ending(given)
    draft = await _clean_draft(run, read.found, read.history)
    if isinstance(draft, Ending):
        return draft
    if draft.assessed.action is Action.RECHECK:
        draft = assessing.better(draft, None)
    ending = assessing.ending(run, draft)
    blocked = await _part_blocked(run, ending, read.history)
    return replace(blocked, draft=draft) if blocked else ending


async def _part_blocked(run: Run, ending: Ending, history: tuple[Message, ...]) -> Ending | None:
    """The ending of a partial reply that the guards block: without its other sentences it is a new text."""
    if ending.reason_code is not Reason.PARTIAL_REPLY or ending.reply is None:
        return None
    text = ending.reply
    ruled = _ruled_ending(run, text, ending.draft, history)
    return ruled or await guards.moderation_ending(run, text, REPLY)


def _ruled_ending(run: Run, text: str, draft: Draft, history: tuple[Message, ...]) -> Ending | None:
    """The ending when rules or content stop a reply; ``draft`` is what a model wrote of it."""
    return guards.rule_ending(run, text, REPLY) or guards.content_ending(run, draft, history)


async def _unless_overtaken(run: Run, ending: Ending) -> Ending:
    """An ending without a draft, unless it speaks or hands over and newer events forbid that."""
    case = run.case
    hands_over = decision_kind(case.event, case.account, case.conversation, ending) is DecisionKind.ESCALATE
    if ending.quarantine or not (ending.reply is not None or hands_over):
        return ending
    late = await guards.overtaken_ending(run)
    return replace(late, draft=ending.draft) if late else ending


async def _assessed_draft(run: Run, found: Draft, history: tuple[Message, ...]) -> Draft | Ending:
    """A clean draft with its assessment; of several models the most central draft is assessed."""
    if not (names := several_models.model_names(run)):
        return await _clean_draft(run, found, history)
    runs = [several_models.run_with(run, name) for name in names]
    made = iter(await all_of(_moderated_draft(each, found, history) for each in runs if each))
    draft = several_models.chosen(run, names, [next(made) if each else None for each in runs])
    return draft if isinstance(draft, Ending) else await assessing.assessed(run, draft, history)


async def _clean_draft(
    run: Run, found: Draft, history: tuple[Message, ...], *, rechecks: int = 0
) -> Draft | Ending:
    """A draft that passed the same guards as the message; the judge reads it while it is moderated."""
    draft = await _ruled_draft(run, found, history)
    if isinstance(draft, Ending):
        return draft
    async with Ahead(
        run=run, steps=lambda beside: assessing.assessed(beside, draft, history, rechecks=rechecks)
    ) as assessed_ahead:
        assessed_ahead.begin()
        blocked = await guards.moderation_ending(run, draft.reply, REPLY)
        return replace(blocked, draft=draft) if blocked else await assessed_ahead.value()


async def _moderated_draft(run: Run, found: Draft, history: tuple[Message, ...]) -> Draft | Ending:
    """A draft that passed the same guards as the message, not assessed."""
    draft = await _ruled_draft(run, found, history)
    if isinstance(draft, Ending):
        return draft
    blocked = await guards.moderation_ending(run, draft.reply, REPLY)
    return replace(blocked, draft=draft) if blocked else draft


async def _ruled_draft(run: Run, found: Draft, history: tuple[Message, ...]) -> Draft | Ending:
    """A draft whose text, as it would be sent, passed the account's rules."""
    draft = await drafting.drafted(run, found, history) if run.case.event.check is None else found
    if isinstance(draft, Ending):
        return draft
    if not draft.reply:
        empty = silent_ending(Reason.NO_ANSWER, "the draft holds only citation marks")
        return replace(empty, draft=draft)
    blocked = _ruled_ending(run, draft.reply, draft, history)
    return replace(blocked, draft=draft) if blocked else draft


async def _rechecked(run: Run, before: Draft, history: tuple[Message, ...]) -> Draft:
    """Search wider, draft and assess once more; the more trusted draft wins (Confidence Guardrail)."""
    wider = recheck_search(run.case.policy)
    if wider is None:
        return before
    run = replace(run, search=wider)
    found = await context.retrieve(run, run.case.event.text, Draft(search_failure=before.search_failure))
    after = await _clean_draft(run, found, history, rechecks=1)
    return assessing.better(before, None if isinstance(after, Ending) else after)


async def _drafted_again(run: Run, first: Draft, history: tuple[Message, ...]) -> Draft:
    """One more draft by the account's other model or prompt; the better assessed one counts."""
    if (other := second_draft.other_run(run)) is None:
        return second_draft.better(run, first, None)
    second = await _clean_draft(other, second_draft.before_draft(first), history)
    return second_draft.better(run, first, None if isinstance(second, Ending) else second)
