"""The model's part: a draft after as many rounds of tools as the policy allows, with retries."""

from __future__ import annotations

from dataclasses import replace

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type

from worker import generation, policy
from worker.errors import ModelRejected, ModelUnavailable
from worker.model import Completion, Message, Prompt, StageOutcome, ToolCall, ToolResult, ToolRound
from worker.policy import Ending, Reason
from worker.steps import context
from worker.steps.run import Run


async def draft(run: Run, history: tuple[Message, ...]) -> str | Ending:
    """The draft's text, or why there is none."""
    asked = generation.prompt(run.case.event, run.case.account, history, run.trace.passages)
    run.trace.prompt_hash = generation.prompt_hash(asked)
    for rounds_left in range(run.case.retry.tool_rounds, -1, -1):
        asked = replace(asked, tools_allowed=rounds_left > 0)
        completion = await _completion(run, asked)
        if isinstance(completion, Ending):
            return completion
        if completion.refusal is not None:
            return policy.silent(Reason.MODEL_REFUSED, f"the model refused: {completion.refusal[:200]}")
        if not completion.tool_calls:
            return completion.text
        for call in completion.tool_calls:
            if call.name == generation.ESCALATE_TOOL:
                return policy.escalated(Reason.MODEL_ESCALATED, generation.escalation_reason(call))
        answered = await _tools(run, completion.tool_calls)
        asked = replace(asked, tool_rounds=(*asked.tool_rounds, answered))
    return policy.silent(Reason.TOOL_LOOP, "the model kept asking for tools instead of answering")


async def _tools(run: Run, calls: tuple[ToolCall, ...]) -> ToolRound:
    results = []
    for call in calls:
        first = len(run.trace.passages) + 1
        passages = await context.retrieve(run, generation.search_query(call, run.case.event))
        results.append(ToolResult(call_id=call.call_id, content=generation.numbered(passages, first)))
    return ToolRound(calls=calls, results=tuple(results))


async def _completion(run: Run, asked: Prompt) -> Completion | Ending:
    """One completion; what can pass by itself is tried again as the retry policy says."""
    with run.trace.stage("generation") as note:
        try:
            async for attempt in _retrying(run):
                with attempt:
                    completion = await _one_attempt(run, asked, attempt.retry_state)
        except ModelUnavailable as error:
            note.outcome = StageOutcome.FAILED
            return policy.silent(Reason.LLM_ERROR, str(error), confidence=0.0, degraded=True)
        except ModelRejected as error:
            note.outcome = StageOutcome.FAILED
            return policy.silent(Reason.LLM_REJECTED, str(error), confidence=0.0, degraded=True)
        note.detail["finish_reason"] = completion.finish_reason
        note.detail["tool_calls"] = [call.name for call in completion.tool_calls]
    run.trace.completed("completion", completion)
    return completion


def _retrying(run: Run) -> AsyncRetrying:
    return AsyncRetrying(
        retry=retry_if_exception_type(ModelUnavailable),
        stop=lambda state: _wait_s(run, state) is None,
        wait=lambda state: _wait_s(run, state) or 0.0,
        sleep=run.ports.clock.sleep,
        reraise=True,
    )


def _wait_s(run: Run, state: RetryCallState) -> float | None:
    error = state.outcome.exception() if state.outcome else None
    retry_after_s = error.retry_after_s if isinstance(error, ModelUnavailable) else None
    return run.case.retry.wait_s(state.attempt_number, retry_after_s)


async def _one_attempt(run: Run, asked: Prompt, state: RetryCallState) -> Completion:
    number, started = state.attempt_number, run.ports.clock.monotonic()
    outcome, detail, wait_s = "completed", "", 0.0
    try:
        return await run.ports.model.complete(asked, run.case.retry.timeout_s)
    except (ModelUnavailable, ModelRejected) as error:
        outcome, detail = getattr(error, "kind", "rejected"), str(error)
        if isinstance(error, ModelUnavailable):
            wait_s = run.case.retry.wait_s(number, error.retry_after_s) or 0.0
        raise
    finally:
        elapsed_ms = (run.ports.clock.monotonic() - started) * 1000
        run.trace.attempt(
            "generation", number, outcome, duration_ms=elapsed_ms, waited_s=wait_s, detail=detail
        )
