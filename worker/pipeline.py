"""What happens to one event, in this order. With its steps the only caller of ports."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from worker import conversation_endings, held_texts
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
)
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


async def decide(case: EventCase, ports: Ports) -> Decision:
    """Decide whether an AI may answer, and with what; on a block nothing later runs.

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
    if settled is not None:  # the text may be another one, of a publisher that knows no edits
        return decision_of(trace, guards.rule_ending(run, case.event.text, MESSAGE) or settled)
    blocked = await _blocked(run)
    if blocked is not None:
        remember = blocked.reason_code in REMEMBERED and bool(case.event.text) and case.event.check is None
        blocked = checking.with_given_draft(case.event, blocked)
        return decision_of(trace, blocked, masked=masker.counts, remember=remember)
    with texts_read_once():
        ending = conversation_endings.edited_ending(case.event)
        if ending is None:
            ending = await (_answer(run) if case.event.check is None else _checked(run, case.event.check))
    ending = held_texts.for_approval(await suggesting.with_questions(run, ending), case.account, case.budget)
    remember = not ending.quarantine and case.event.type is EventType.MESSAGE
    return decision_of(trace, ending, masked=masker.counts, remember=remember)


async def _blocked(run: Run) -> Ending | None:
    """The ending of an event that no model is asked about."""
    text, edited = run.case.event.text, run.case.event.type is EventType.MESSAGE_EDITED
    closed = guards.scope_ending(run)
    if closed is not None and not edited:
        return closed
    if not text and run.case.event.check is not None:  # a draft only
        return conversation_endings.owned_ending(run.case.event, run.case.conversation)
    unmoderated = closed is not None and closed.reason_code not in STILL_MODERATED
    return (
        guards.rule_ending(run, text, MESSAGE)
        or conversation_endings.owned_ending(run.case.event, run.case.conversation)
        or run.case.shed
        or (None if unmoderated else await guards.moderation_ending(run, text, MESSAGE))
        or (None if edited else await guards.unseen_attachment_ending(run))
        or (None if edited else await guards.merged_ending(run) or guards.too_late_ending(run))
    )


async def _answer(run: Run) -> Ending:
    """From a clean message to an ending."""
    history = await context.history(run)
    if (
        run.case.policy.gate
        and (ended := conversation_endings.acknowledged_ending(run.case.event, history)) is not None
    ):
        return ended
    if (looped := guards.looped_ending(run, history)) is not None:
        return await _unless_overtaken(run, looped)
    found = await context.retrieve_first(run, Draft(), history)
    if (refused := assessing.refused_early(run, found, history)) is not None:
        return await _unless_overtaken(run, refused)
    drafted = await _drafted(run, context.with_right_labels(run, found), history)
    if isinstance(drafted, Ending):
        return await _unless_overtaken(run, drafted)
    draft = await assessing.assessed(run, drafted, history)
    if draft.assessed.action is Action.RECHECK:
        draft = await _rechecked(run, draft, history)
    if second_draft.is_needed(run, draft):
        draft = await _drafted_again(run, draft, history)
    ending = assessing.ending(run, draft)
    if (blocked := await _part_blocked(run, ending)) is not None:
        return await _unless_overtaken(run, replace(blocked, draft=draft))
    late = guards.too_late_ending(run) or await guards.overtaken_ending(run)
    return replace(late, draft=draft) if late else ending


async def _checked(run: Run, check: GivenCheck) -> Ending:
    """The ending of a check: the draft's guards, then its assessment where there may be passages."""
    if (given := checking.given_draft(check)) is None:
        return checking.message_ending()
    if (blocked := await _reply_blocked(run, given.text)) is not None:
        return replace(blocked, draft=given)
    if not check.is_assessed:
        return checking.unassessed_ending(given)
    history = await context.history(run)
    found = context.with_right_labels(run, await context.retrieve_first(run, given, history))
    draft = await assessing.assessed(run, found, history)
    if draft.assessed.action is Action.RECHECK:
        draft = assessing.better(draft, None)
    ending = assessing.ending(run, draft)
    blocked = await _part_blocked(run, ending)
    return replace(blocked, draft=draft) if blocked else ending


async def _part_blocked(run: Run, ending: Ending) -> Ending | None:
    """The ending of a partial reply that the guards block: without its other sentences it is a new text."""
    if ending.reason_code is not Reason.PARTIAL_REPLY or ending.reply is None:
        return None
    return await _reply_blocked(run, ending.reply)


async def _reply_blocked(run: Run, text: str) -> Ending | None:
    """The ending when the guards of the reply do not let a text pass."""
    return guards.rule_ending(run, text, REPLY) or await guards.moderation_ending(run, text, REPLY)


async def _unless_overtaken(run: Run, ending: Ending) -> Ending:
    """An ending without a draft, unless it speaks or hands over and newer events forbid that."""
    case = run.case
    hands_over = decision_kind(case.event, case.account, case.conversation, ending) is DecisionKind.ESCALATE
    if ending.quarantine or not (ending.reply is not None or hands_over):
        return ending
    late = await guards.overtaken_ending(run)
    return replace(late, draft=ending.draft) if late else ending


async def _drafted(run: Run, found: Draft, history: tuple[Message, ...]) -> Draft | Ending:
    """A clean draft; of several models the most central one."""
    if not (names := several_models.model_names(run)):
        return await _clean_draft(run, found, history)
    runs = [several_models.run_with(run, name) for name in names]
    made = iter(await all_of(_clean_draft(each, found, history) for each in runs if each))
    return several_models.chosen(run, names, [next(made) if each else None for each in runs])


async def _clean_draft(run: Run, found: Draft, history: tuple[Message, ...]) -> Draft | Ending:
    """A draft whose text, as it would be sent, passed the same guards as the message."""
    draft = await drafting.drafted(run, found, history)
    if isinstance(draft, Ending):
        return draft
    if not (text := draft.reply):
        empty = silent_ending(Reason.NO_ANSWER, "the draft holds only citation marks")
        return replace(empty, draft=draft)
    blocked = await _reply_blocked(run, text)
    return replace(blocked, draft=draft) if blocked else draft


async def _rechecked(run: Run, before: Draft, history: tuple[Message, ...]) -> Draft:
    """Search wider, draft and assess once more; the more trusted draft wins (Confidence Guardrail)."""
    wider = recheck_search(run.case.policy)
    if wider is None:
        return before
    run = replace(run, search=wider)
    found = await context.retrieve(run, run.case.event.text, Draft(search_failure=before.search_failure))
    draft = await _clean_draft(run, found, history)
    after = None if isinstance(draft, Ending) else await assessing.assessed(run, draft, history, rechecks=1)
    return assessing.better(before, after)


async def _drafted_again(run: Run, first: Draft, history: tuple[Message, ...]) -> Draft:
    """One more draft by the account's other model or prompt; the better assessed one counts."""
    if (other := second_draft.other_run(run)) is None:
        return second_draft.better(run, first, None)
    draft = await _clean_draft(other, second_draft.before_draft(first), history)
    second = None if isinstance(draft, Ending) else await assessing.assessed(other, draft, history)
    return second_draft.better(run, first, second)
