"""Drafts and what stands between them and a reply: rules, content, moderation beside the judge."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import Any

from worker.assessment import recheck_search
from worker.cancellation import all_of
from worker.endings import REPLY, Draft, Ending, silent_ending
from worker.model import Message
from worker.reasons import Reason
from worker.steps import assessing, context, drafting, guards, second_draft, several_models
from worker.steps.ahead import Ahead
from worker.steps.run import GuardedRun, Run


def first(run: Run, found: Draft, history: tuple[Message, ...]) -> Coroutine[Any, Any, Draft | Ending]:
    """A clean draft with its assessment; of several models the most central draft is assessed."""
    names = several_models.model_names(run)
    return _chosen(run, names, found, history) if names else _clean(run, found, history)


async def _chosen(
    run: Run, names: Sequence[str], found: Draft, history: tuple[Message, ...]
) -> Draft | Ending:
    runs = [several_models.run_with(run, name) for name in names]
    made = iter(await all_of(_one_of_several(each, found, history) for each in runs if each))
    draft = several_models.chosen(run, names, [next(made) if each else None for each in runs])
    return draft if isinstance(draft, Ending) else await assessing.assessed(run, draft, history)


async def rechecked(run: Run, before: Draft, history: tuple[Message, ...]) -> Draft:
    """Search wider, draft and assess once more; the more trusted draft wins (Confidence Guardrail)."""
    wider = recheck_search(run.case.policy)
    if wider is None:
        return before
    run = replace(run, search=wider)
    found = await context.retrieve(run, run.case.event.text, Draft(search_failure=before.search_failure))
    after = await _clean(run, found, history, rechecks=1)
    return assessing.better(before, None if isinstance(after, Ending) else after)


async def drafted_again(run: Run, before: Draft, history: tuple[Message, ...]) -> Draft:
    """One more draft by the account's other model or prompt; the better assessed one counts."""
    if (other := second_draft.other_run(run)) is None:
        return second_draft.better(run, before, None)
    after = await _clean(other, second_draft.before_draft(before), history)
    return second_draft.better(run, before, None if isinstance(after, Ending) else after)


async def _clean(
    run: Run, found: Draft, history: tuple[Message, ...], *, rechecks: int = 0
) -> Draft | Ending:
    draft = _usable(run, await drafting.drafted(run, found, history), history)
    return draft if isinstance(draft, Ending) else await assessed(run, draft, history, rechecks=rechecks)


async def _one_of_several(run: Run, found: Draft, history: tuple[Message, ...]) -> Draft | Ending:
    draft = _usable(run, await drafting.drafted(run, found, history), history)
    return draft if isinstance(draft, Ending) else await moderated(run, draft)


def _usable(run: Run, draft: Draft | Ending, history: tuple[Message, ...]) -> Draft | Ending:
    """A model's draft if it passes what needs no call."""
    return draft if isinstance(draft, Ending) else unsent_ending(run, draft, history) or draft


def unsent_ending(run: GuardedRun, draft: Draft, history: tuple[Message, ...]) -> Ending | None:
    """The ending of a draft that is empty, or whose text, as it would be sent, rules or content stop."""
    reply = draft.reply
    if not reply.strip():
        empty = silent_ending(Reason.NO_ANSWER, "the draft has no words besides citation marks")
        return replace(empty, draft=draft)
    blocked = _ruled_ending(run, reply, draft, history)
    return replace(blocked, draft=draft) if blocked else None


async def moderated(run: Run, draft: Draft) -> Draft | Ending:
    """The draft if it passed the same moderators as the message, not assessed."""
    blocked = await guards.moderation_ending(run, draft.reply, REPLY)
    return replace(blocked, draft=draft) if blocked else draft


async def assessed(
    run: Run, draft: Draft, history: tuple[Message, ...], *, rechecks: int = 0
) -> Draft | Ending:
    """The draft with its assessment; the judge reads the draft while moderators do."""
    beside = run.beside()
    steps = assessing.assessed(beside, draft, history, rechecks=rechecks)
    async with Ahead(run=run, beside=beside, steps=steps) as assessed_ahead:
        passed = await moderated(run, draft)
        if isinstance(passed, Ending):
            return passed
        found = await assessed_ahead.value()
    return found if found.text == draft.text else await _guarded(run, found, history)


async def _guarded(run: Run, draft: Draft, history: tuple[Message, ...]) -> Draft | Ending:
    """A draft that lost sentences, which makes it a new text, if rules, content and moderation pass it."""
    ruled = unsent_ending(run, draft, history)
    return ruled or await moderated(run, draft)


async def part_ending(run: Run, ending: Ending, history: tuple[Message, ...]) -> Ending | None:
    """The ending of a partial reply that the guards block: without its other sentences it is a new text."""
    if ending.reason_code is not Reason.PARTIAL_REPLY or ending.reply is None:
        return None
    text = ending.reply
    ruled = _ruled_ending(run, text, ending.draft, history)
    return ruled or await guards.moderation_ending(run, text, REPLY)


def _ruled_ending(run: GuardedRun, text: str, draft: Draft, history: tuple[Message, ...]) -> Ending | None:
    """The ending when rules or content stop a reply; ``draft`` is what a model wrote of it."""
    return guards.rule_ending(run, text, REPLY) or guards.content_ending(run, draft, history)
