"""What happens to one event, in this order. With its steps the only caller of ports."""

from __future__ import annotations

from worker.assessment import Action, recheck_of
from worker.model import Decision, Message
from worker.policy import MESSAGE, REPLY, Ending
from worker.ports import Ports
from worker.steps import context, drafting, guards, trust
from worker.steps.run import Case, Run
from worker.steps.trust import Trusted
from worker.trace import Trace


async def decide(case: Case, ports: Ports) -> Decision:
    """Decide whether an AI may answer, and with what; on a block nothing later runs.

    Raises:
        StorageUnavailable: the history could not be read; nothing was decided, safe to repeat.
    """
    run = Run(case=case, ports=ports, trace=Trace(event=case.event, account=case.account, clock=ports.clock))
    ending = (
        guards.scope_closed(run)
        or guards.rule_hit(run, case.event.text, MESSAGE)
        or await guards.moderation_hit(run, case.event.text, MESSAGE)
        or await _answer(run)
    )
    return run.trace.decision(ending)


async def _answer(run: Run) -> Ending:
    """From a clean message to an ending."""
    run.trace.message_passed = True
    history = await context.history(run)
    await context.retrieve(run, run.case.event.text)
    if (refused := trust.refused_early(run)) is not None:
        return refused
    draft = await _clean_draft(run, history)
    if isinstance(draft, Ending):
        return draft
    trusted = await trust.assessed(run, draft)
    if trusted.assessment.action is Action.RECHECK:
        trusted = await _rechecked(run, history, trusted)
    return guards.too_late(run) or trust.ending(run, trusted)


async def _clean_draft(run: Run, history: tuple[Message, ...]) -> str | Ending:
    """A draft that passed the same guards as the message."""
    draft = await drafting.draft(run, history)
    if isinstance(draft, Ending):
        return draft
    run.trace.draft_text = draft
    return guards.rule_hit(run, draft, REPLY) or await guards.moderation_hit(run, draft, REPLY) or draft


async def _rechecked(run: Run, history: tuple[Message, ...], before: Trusted) -> Trusted:
    """Search wider, draft and assess once more; whichever is trusted more stands (seed 001)."""
    wider = recheck_of(run.case.policy)
    if wider is None:
        return before
    kept, asked = run.trace.passages, run.trace.prompt_hash
    run.trace.passages = ()
    await context.retrieve(run, run.case.event.text, wider)
    draft = await _clean_draft(run, history)
    after = None if isinstance(draft, Ending) else await trust.assessed(run, draft, rechecks=1)
    trusted = trust.better(run, before, after, kept)
    if trusted.draft is before.draft:
        run.trace.prompt_hash = asked
    return trusted
