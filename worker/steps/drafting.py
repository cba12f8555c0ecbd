"""Drafting: completions and tool rounds, with retries."""

from __future__ import annotations

from dataclasses import replace

from worker import endings, generation, scope
from worker.endings import Draft, Ending
from worker.errors import ModelRejected, ModelUnavailable
from worker.masking import Masker
from worker.model import (
    AttemptOutcome,
    CallPurpose,
    Completion,
    Message,
    Passage,
    Prompt,
    Stage,
    StageOutcome,
    Tokens,
    ToolCall,
    ToolResult,
    ToolRound,
)
from worker.reasons import Reason
from worker.reply_content import without_invisible
from worker.steps import context
from worker.steps.run import Run


async def drafted(run: Run, draft: Draft, history: tuple[Message, ...]) -> Draft | Ending:
    """The draft with its text, or the ending without one."""
    case, masker, first = run.case, run.masker, draft.passages
    prompt = generation.prompt(case.event, case.account, history, first, masker)
    for rounds_left in range(run.ports.limits.tool_rounds, -1, -1):
        if not rounds_left:  # servers refuse results of tools that the request does not declare
            prompt = replace(prompt, must_answer=True) if prompt.tool_rounds else replace(prompt, tools=())
        prompt = generation.shortened(prompt, first, run.ports.limits.prompt_tokens, masker)
        prompt, completion = await _completion(run, prompt, first, len(history))
        tokens = Tokens() if isinstance(completion, Ending) else completion.tokens
        draft = replace(
            draft,
            prompt_hash=generation.prompt_hash(prompt),
            fence=prompt.fence,
            tokens=draft.tokens + tokens,
        )
        if isinstance(completion, Ending):
            return replace(completion, draft=draft)
        if (ending := _without_draft(completion, masker)) is not None:
            return replace(ending, draft=draft)
        if not completion.tool_calls:
            return replace(draft, text=masker.restore(completion.text).text, model=completion.model)
        draft, answered = await _tools(run, draft, prompt.fence, completion.tool_calls)
        prompt = replace(prompt, tool_rounds=(*prompt.tool_rounds, answered))
    sentence = "the model kept asking for tools instead of answering"
    return replace(endings.silent_ending(Reason.TOOL_LOOP, sentence), draft=draft)


def _without_draft(completion: Completion, masker: Masker) -> Ending | None:
    """The ending when the model refused, asked for a person, or wrote placeholders that stand for nothing."""
    if completion.refusal is not None:
        said = masker.restore(completion.refusal).text[:200]
        return endings.silent_ending(Reason.MODEL_REFUSED, f"the model refused: {said}")
    for call in completion.tool_calls:
        if call.name == generation.ESCALATE_TOOL:
            return endings.silent_ending(Reason.MODEL_ESCALATED, generation.escalation_reason(call, masker))
    unknown = () if completion.tool_calls else masker.restore(completion.text).unknown
    if unknown:
        return endings.silent_ending(
            Reason.PLACEHOLDER_UNKNOWN, f"the draft has placeholders that stand for nothing: {unknown[:5]}"
        )
    return None


async def _tools(run: Run, draft: Draft, fence: str, calls: tuple[ToolCall, ...]) -> tuple[Draft, ToolRound]:
    results = []
    for call in calls:
        known = len(draft.passages)
        draft = await context.retrieve(run, generation.search_query(call, run.case.event, run.masker), draft)
        content = generation.tool_result(draft.passages[known:], known + 1, fence, run.masker)
        results.append(ToolResult(call_id=call.call_id, content=content))
    return draft, ToolRound(calls=calls, results=tuple(results))


async def _completion(
    run: Run, prompt: Prompt, first: tuple[Passage, ...], lines: int
) -> tuple[Prompt, Completion | Ending]:
    """One completion and the prompt that it answers; an outage is retried as the retry policy says."""
    attempts = _Attempts(run, prompt, first)
    with run.trace.stage(Stage.GENERATION) as note:
        try:
            completion = await attempts.last()
        except ModelUnavailable as error:
            if error.kind == AttemptOutcome.LIMITED:
                note.outcome = StageOutcome.SKIPPED
                return attempts.prompt, endings.silent_ending(Reason.TOO_LATE, str(error))
            completion = endings.silent_ending(Reason.LLM_ERROR, str(error), confidence=0.0, degraded=True)
        except ModelRejected as error:
            completion = endings.silent_ending(Reason.LLM_REJECTED, str(error), confidence=0.0, degraded=True)
        if left_out := lines - len(attempts.prompt.history):
            note.detail["lines_left_out"] = left_out
        if isinstance(completion, Ending):
            note.outcome = StageOutcome.FAILED
            return attempts.prompt, completion
        text, removed = without_invisible(completion.text)
        if removed:
            completion = replace(completion, text=text)
            note.detail["invisible_characters_removed"] = removed
        note.detail["finish_reason"] = completion.finish_reason
        note.detail["tool_calls"] = [call.name for call in completion.tool_calls]
    run.trace.completed("completion", completion)
    return attempts.prompt, completion


class _Attempts:
    """The attempts at one completion; a prompt that is refused for its length is halved.

    Attributes:
        prompt: as last sent.
    """

    __slots__ = ("_first", "_run", "prompt")

    def __init__(self, run: Run, prompt: Prompt, first: tuple[Passage, ...]) -> None:
        self._run = run
        self._first = first
        self.prompt = prompt

    async def last(self) -> Completion | Ending:
        """The completion of the first attempt that succeeds; an ending when the event became too old.

        Raises:
            ModelUnavailable: as the last attempt.
            ModelRejected: as the first attempt that raised it and cannot be made with less.
        """
        run, number = self._run, 1
        while True:
            now = run.ports.clock.now()
            if (late := scope.late_ending(run.case.event, run.case.account, now)) is not None:
                return late
            wait_s: float | None = 0.0
            try:
                return await _one_attempt(run, self.prompt, number)
            except ModelUnavailable as error:
                wait_s = run.ports.retry.wait_s(number, error.retry_after_s)
                if wait_s is None:
                    raise
            except ModelRejected as error:
                if number >= run.ports.retry.attempts or not (error.is_too_long and self._halved()):
                    raise
            if wait_s:
                await run.ports.clock.sleep(wait_s)
            number += 1

    def _halved(self) -> bool:
        """Leave out half of the prompt; false when nothing can be left out."""
        most = generation.estimated_tokens(self.prompt) // 2
        shorter = generation.shortened(self.prompt, self._first, most, self._run.masker)
        changed, self.prompt = shorter != self.prompt, shorter
        return changed


async def _one_attempt(run: Run, prompt: Prompt, number: int) -> Completion:
    started = run.ports.clock.monotonic()
    outcome, detail, wait_s, completion = AttemptOutcome.COMPLETED, "", 0.0, None
    try:
        completion = await run.ports.model.complete(prompt, run.ports.limits.timeout_s)
    except (ModelUnavailable, ModelRejected) as error:
        outcome, detail = AttemptOutcome(error.kind), str(error)
        if isinstance(error, ModelUnavailable):
            wait_s = run.ports.retry.wait_s(number, error.retry_after_s) or 0.0
        raise
    finally:
        elapsed_ms = (run.ports.clock.monotonic() - started) * 1000
        run.trace.attempt(
            Stage.GENERATION,
            number,
            outcome,
            duration_ms=elapsed_ms,
            waited_s=wait_s,
            detail=detail,
            total=run.ports.retry.attempts,
        )
        run.trace.called(CallPurpose.COMPLETION, Stage.GENERATION, started, completion, outcome=outcome)
    return completion
