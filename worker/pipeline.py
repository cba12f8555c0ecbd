"""What happens to one event, in this order. The only caller of ports."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type

from worker import generation, moderation, policy, scope
from worker.errors import (
    ModelRejected,
    ModelUnavailable,
    ModerationRejected,
    ModerationUnavailable,
    RetrievalUnavailable,
)
from worker.generation import RetryPolicy
from worker.model import (
    Account,
    Completion,
    Decision,
    Event,
    FailurePolicy,
    Message,
    ModerationScores,
    Passage,
    Prompt,
    StageOutcome,
    ToolCall,
    ToolResult,
    ToolRound,
)
from worker.policy import MESSAGE, REPLY, Ending, Reason, Subject
from worker.ports import Ports
from worker.rules import CompiledRules
from worker.rules.screening import findings
from worker.trace import Trace

HISTORY_LINES: Final = 20
PASSAGES: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One event with everything pinned that judges it."""

    event: Event
    account: Account
    rules: CompiledRules
    retry: RetryPolicy


async def decide(case: Case, ports: Ports) -> Decision:
    """Decide whether an AI may answer, and with what; on a block nothing later runs."""
    trace = Trace(event=case.event, account=case.account, clock=ports.clock)
    ending = (
        _scope(case, ports, trace)
        or _rules(case, trace, case.event.text, MESSAGE)
        or await _moderation(case, ports, trace, case.event.text, MESSAGE)
        or await _answer(case, ports, trace)
    )
    return trace.decision(ending)


async def _answer(case: Case, ports: Ports, trace: Trace) -> Ending:
    """From a clean message to an ending: history, retrieval, generation, the same guards on the draft."""
    trace.message_passed = True
    history = await _history(case, ports, trace)
    passages = await _retrieval(case, ports, trace, case.event.text)
    asked = generation.prompt(case.event, case.account, history, passages)
    draft = await _generation(case, ports, trace, asked)
    if isinstance(draft, Ending):
        return draft
    trace.draft_text = draft
    return (
        _rules(case, trace, draft, REPLY)
        or await _moderation(case, ports, trace, draft, REPLY)
        or scope.late(case.event, case.account, ports.clock.now())
        or policy.replied(draft, confidence=1.0)
    )


def _scope(case: Case, ports: Ports, trace: Trace) -> Ending | None:
    with trace.stage("scope") as note:
        ending = scope.closed(case.event, case.account, ports.clock.now())
        note.outcome = StageOutcome.FLAGGED if ending else StageOutcome.PASSED
    return ending


def _rules(case: Case, trace: Trace, text: str, subject: Subject) -> Ending | None:
    if subject is REPLY and not case.account.rules_on_reply:
        return None
    with trace.stage(f"rules{subject.suffix}") as note:
        found = findings(case.rules, text, stage=f"rules{subject.suffix}")
        if not found:
            return None
        note.outcome = StageOutcome.FLAGGED
        note.detail["matched_rule"] = found[0].matched_rule
    trace.found(*found)
    return policy.blocked(subject.rule, found[0])


async def _moderation(case: Case, ports: Ports, trace: Trace, text: str, subject: Subject) -> Ending | None:
    if ports.moderator is None:
        return None
    name = f"moderation{subject.suffix}"
    with trace.stage(name) as note:
        outcome = await _scores(case, ports, trace, text, subject)
        if isinstance(outcome, ModerationRejected | ModerationUnavailable):
            note.outcome = StageOutcome.FAILED
            note.detail["moderated"] = False
            return _unmoderated(case, trace, subject, outcome)
        trace.models["moderation"] = outcome.model
        note.detail["highest"] = dict(moderation.margins(outcome, case.account))
        finding = moderation.finding(outcome, case.account, stage=name)
        if finding is None:
            return None
        note.outcome = StageOutcome.FLAGGED
        note.detail["matched_rule"] = finding.matched_rule
    trace.found(finding)
    return policy.blocked(subject.flagged, finding)


async def _scores(
    case: Case, ports: Ports, trace: Trace, text: str, subject: Subject
) -> ModerationScores | ModerationRejected | ModerationUnavailable:
    """Scores, or the error that stays: a hold waits here, in process, until the event is too old for it."""
    assert ports.moderator is not None  # noqa: S101  # the caller has looked
    images = case.event.attachments if subject is MESSAGE else ()
    number = 0
    while True:
        number += 1
        started = ports.clock.monotonic()
        try:
            return await ports.moderator.moderate(text, images)
        except ModerationRejected as error:
            return error
        except ModerationUnavailable as error:
            age_s = (ports.clock.now() - case.event.received_at).total_seconds()
            wait_s = moderation.pause_s(case.account, number, age_s, error.retry_after_s)
            trace.attempt(
                f"moderation{subject.suffix}",
                number,
                error.kind,
                duration_ms=(ports.clock.monotonic() - started) * 1000,
                waited_s=wait_s or 0.0,
                detail=str(error),
            )
            if wait_s is None:
                return error
            await ports.clock.sleep(wait_s)


def _unmoderated(
    case: Case, trace: Trace, subject: Subject, error: ModerationRejected | ModerationUnavailable
) -> Ending | None:
    trace.degraded = True
    if isinstance(error, ModerationRejected):
        return policy.silent(subject.rejected, str(error), confidence=0.0)
    match case.account.moderation_failure:
        case FailurePolicy.ALLOW:
            return None
        case FailurePolicy.BLOCK:
            return policy.silent(subject.unavailable, str(error), confidence=0.0)
        case FailurePolicy.HOLD:
            return policy.silent(subject.timed_out, f"held too long, last: {error}", confidence=0.0)


async def _history(case: Case, ports: Ports, trace: Trace) -> tuple[Message, ...]:
    with trace.stage("history") as note:
        lines = await ports.conversations.history(
            case.event.user_id, case.event.conversation_id, HISTORY_LINES
        )
        note.detail["lines"] = len(lines)
    return lines


async def _retrieval(case: Case, ports: Ports, trace: Trace, query: str) -> tuple[Passage, ...]:
    """Passages for a query, numbered on from those already found; none, and degraded, when search is down."""
    with trace.stage("retrieval") as note:
        try:
            found = await ports.retriever.search(case.event.user_id, query, PASSAGES)
        except RetrievalUnavailable as error:
            note.outcome = StageOutcome.FAILED
            note.detail["error"] = error.kind
            trace.degraded = True
            return ()
        known = {passage.passage_id for passage in trace.passages}
        new = tuple(passage for passage in found if passage.passage_id not in known)
        note.detail["passages"] = [passage.passage_id for passage in new]
        trace.passages += new
    return new


async def _generation(case: Case, ports: Ports, trace: Trace, asked: Prompt) -> str | Ending:
    """The draft's text, after as many rounds of tools as the policy allows; or why there is none."""
    trace.prompt_hash = generation.prompt_hash(asked)
    for rounds_left in range(case.retry.tool_rounds, -1, -1):
        asked = replace(asked, tools_allowed=rounds_left > 0)
        completion = await _completion(case, ports, trace, asked)
        if isinstance(completion, Ending):
            return completion
        if completion.refusal is not None:
            return policy.silent(Reason.MODEL_REFUSED, f"the model refused: {completion.refusal[:200]}")
        if not completion.tool_calls:
            return completion.text
        for call in completion.tool_calls:
            if call.name == generation.ESCALATE_TOOL:
                return policy.escalated(Reason.MODEL_ESCALATED, generation.escalation_reason(call))
        answered = await _tools(case, ports, trace, completion.tool_calls)
        asked = replace(asked, tool_rounds=(*asked.tool_rounds, answered))
    return policy.silent(Reason.TOOL_LOOP, "the model kept asking for tools instead of answering")


async def _tools(case: Case, ports: Ports, trace: Trace, calls: tuple[ToolCall, ...]) -> ToolRound:
    results = []
    for call in calls:
        first = len(trace.passages) + 1
        passages = await _retrieval(case, ports, trace, generation.search_query(call, case.event))
        results.append(ToolResult(call_id=call.call_id, content=generation.numbered(passages, first)))
    return ToolRound(calls=calls, results=tuple(results))


async def _completion(case: Case, ports: Ports, trace: Trace, asked: Prompt) -> Completion | Ending:
    """One completion; what can pass by itself is tried again as the retry policy says."""
    with trace.stage("generation") as note:
        try:
            async for attempt in _retrying(case, ports):
                with attempt:
                    completion = await _one_attempt(case, ports, trace, asked, attempt.retry_state)
        except ModelUnavailable as error:
            note.outcome = StageOutcome.FAILED
            return policy.silent(Reason.LLM_ERROR, str(error), confidence=0.0, degraded=True)
        except ModelRejected as error:
            note.outcome = StageOutcome.FAILED
            return policy.silent(Reason.LLM_REJECTED, str(error), confidence=0.0, degraded=True)
        note.detail["finish_reason"] = completion.finish_reason
        note.detail["tool_calls"] = [call.name for call in completion.tool_calls]
    trace.completed(completion)
    return completion


def _retrying(case: Case, ports: Ports) -> AsyncRetrying:
    return AsyncRetrying(
        retry=retry_if_exception_type(ModelUnavailable),
        stop=lambda state: _wait_s(case, state) is None,
        wait=lambda state: _wait_s(case, state) or 0.0,
        sleep=ports.clock.sleep,
        reraise=True,
    )


def _wait_s(case: Case, state: RetryCallState) -> float | None:
    error = state.outcome.exception() if state.outcome else None
    retry_after_s = error.retry_after_s if isinstance(error, ModelUnavailable) else None
    return case.retry.wait_s(state.attempt_number, retry_after_s)


async def _one_attempt(
    case: Case, ports: Ports, trace: Trace, asked: Prompt, state: RetryCallState
) -> Completion:
    number, started = state.attempt_number, ports.clock.monotonic()
    outcome, detail, wait_s = "completed", "", 0.0
    try:
        return await ports.model.complete(asked, case.retry.timeout_s)
    except (ModelUnavailable, ModelRejected) as error:
        outcome, detail = getattr(error, "kind", "rejected"), str(error)
        if isinstance(error, ModelUnavailable):
            wait_s = case.retry.wait_s(number, error.retry_after_s) or 0.0
        raise
    finally:
        elapsed_ms = (ports.clock.monotonic() - started) * 1000
        trace.attempt("generation", number, outcome, duration_ms=elapsed_ms, waited_s=wait_s, detail=detail)
