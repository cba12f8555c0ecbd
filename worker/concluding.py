"""The decision of an event: its ending with everything that its trace recorded."""

from __future__ import annotations

from collections.abc import Mapping

from worker import conversation_endings, held_texts, scope
from worker.assessment import cited_sources
from worker.endings import Ending
from worker.escalation import decision_kind, escalation_for
from worker.model import Decision, Tokens, TraceContext, Usage
from worker.reasons import Reason
from worker.trace import EventTrace


def decision_of(
    trace: EventTrace, ending: Ending, *, masked: Mapping[str, int] | None = None, remember: bool = False
) -> Decision:
    """The decision with everything recorded so far.

    ``masked``: how many values of each kind vendors got placeholders for; ``remember``: whether message and
    reply enter the stored history.
    """
    event, account, now = trace.event, trace.account, trace.clock.now()
    kind = decision_kind(event, account, trace.conversation, ending)
    is_repeated = ending.reason_code is Reason.MESSAGE_REPEATED
    draft, is_sent = ending.draft, ending.reason_code in held_texts.SENDS_DRAFT
    by_model: dict[str, Tokens] = {}
    for (_, model), tokens in trace.usage.items():
        by_model[model] = by_model.get(model, Tokens()) + tokens
    return Decision(
        decision_id=trace.clock.new_id(now),
        decided_at=now,
        event=event,
        # what the ending and the account's settings decide
        kind=kind,
        reason_code=ending.reason_code,
        reason=ending.reason,
        confidence=ending.confidence,
        rules_version=account.version,
        matched_rule=ending.matched_rule,
        reply=ending.reply,
        disclosure=ending.disclosure,
        send_before=scope.last_moment(event, account),
        degraded=ending.degraded or trace.degraded,
        quarantine=ending.quarantine,
        answered_event=ending.answered_event,
        changes=trace.conversation.changes,
        retract_reply=account.retract_deleted,
        rated=trace.conversation.rated,
        rated_first=trace.conversation.rated_first,
        held=held_texts.held_drafts(ending),
        held_until=held_texts.held_until(account, now),
        sealed_until=held_texts.sealed_until(account, now),
        people_until=conversation_endings.people_until(event, account, kind, now, repeated=is_repeated),
        escalation=escalation_for(event, account, kind, ending, now),
        # the draft that it rests on
        draft=draft.text if is_sent else None,
        sources=cited_sources(draft.text, draft.passages) if is_sent else (),
        rejected_draft=(draft.reply or None) if ending.quarantine else None,
        passages=draft.passages,
        assessment=draft.assessment,
        rechecked=draft.rechecked,
        models=trace.models | ({"completion": draft.model} if draft.model else {}),
        prompt_hash=draft.prompt_hash,
        # stages, attempts, findings and costs
        sign=trace.sign,
        findings=tuple(trace.findings),
        stages=tuple(trace.stages),
        attempts=tuple(trace.attempts),
        confidence_log=tuple(trace.confidence_log),
        tokens=sum(trace.usage.values(), Tokens()),
        tokens_by_model=by_model,
        usage=tuple(
            Usage(purpose=purpose, model=model, tokens=each) for (purpose, model), each in trace.usage.items()
        ),
        screened=tuple(trace.screened),
        calls=tuple(trace.calls),
        began_s=trace.began_s,
        masked=masked or {},
        remember=remember,
        trace=TraceContext.of(event.metadata),
        ended_s=trace.clock.monotonic(),
    )
