"""The stage trace and the snapshot that keeps it."""

from __future__ import annotations

import json
from dataclasses import replace

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from tests.support.fakes import FakeClock
from tests.support.samples import NOW, account, assessment, event, passage
from worker import endings
from worker.concluding import decision_of
from worker.endings import Draft, Ending
from worker.model import (
    AttemptOutcome,
    Completion,
    Finding,
    FoundBy,
    Severity,
    Span,
    Stage,
    StageOutcome,
    Tokens,
)
from worker.reasons import Reason
from worker.snapshot import snapshot_json
from worker.trace import MOST_ATTEMPTS, EventTrace

ENDING = endings.silent_ending(Reason.AI_DISABLED, "off")
FINDING = Finding(
    stage=Stage.RULES,
    code="flagged_keyword",
    severity=Severity.BLOCK,
    matched_rule="flagged_keyword:spam",
    evidence="Flagged keyword detected: 'spam'",
    how="exact",
    span=Span(start=2, end=6),
)


def trace() -> EventTrace:
    """An empty trace."""
    return EventTrace(event=event(), account=account(), clock=FakeClock())


async def test_a_stage_is_timed_and_keeps_its_note() -> None:
    """The duration is in milliseconds of the given clock."""
    run = trace()
    with run.stage(Stage.HISTORY) as note:
        note.detail["lines"] = 3
        await run.clock.sleep(0.25)

    assert [(s.stage, s.outcome, s.duration_ms, s.detail) for s in run.stages] == [
        ("history", StageOutcome.PASSED, 250.0, {"lines": 3})
    ]


@pytest.mark.parametrize("error", [ValueError("bug"), KeyboardInterrupt()])
def test_an_error_marks_its_stage_failed_and_rises(error: BaseException) -> None:
    """The trace holds the stage even then."""
    run = trace()
    with pytest.raises(type(error)), run.stage(Stage.GENERATION):
        raise error

    assert [stage.outcome for stage in run.stages] == [StageOutcome.FAILED]


def test_attempts_of_one_stage_are_bounded_and_the_last_counts_them() -> None:
    """Other stages keep all of their attempts."""
    run = trace()
    for number in range(1, 501):
        run.attempt(Stage.MODERATION, number, AttemptOutcome.TIMEOUT)
    run.attempt(Stage.GENERATION, 1, AttemptOutcome.COMPLETED, detail="x" * 999)
    numbers = [attempt.number for attempt in run.attempts if attempt.stage == "moderation"]

    assert numbers == [*range(1, MOST_ATTEMPTS), 500]
    assert (run.attempts[-1].stage, len(run.attempts[-1].detail)) == ("generation", 300)


def test_tokens_add_up_and_the_last_model_is_named() -> None:
    """Models are recorded per purpose, tokens per model too."""
    run = trace()
    for number in (1, 2, 2):
        run.completed(
            "completion", Completion(text="x", model=f"m{number}", tokens=Tokens(prompt=5, completion=2))
        )
    decision = decision_of(run, ENDING)

    assert (decision.tokens, decision.models) == (Tokens(prompt=15, completion=6), {"completion": "m2"})
    assert decision.tokens_by_model == {
        "m1": Tokens(prompt=5, completion=2),
        "m2": Tokens(prompt=10, completion=4),
    }


@pytest.mark.parametrize(
    ("ending", "text", "rejected"),
    [
        (ENDING, "Nine.", None),
        (endings.blocked_ending(Reason.REPLY_FLAGGED_RULE, FINDING), "Nine.", "Nine."),
        (endings.blocked_ending(Reason.FLAGGED_RULE, FINDING), "", None),
    ],
)
def test_only_a_quarantined_draft_is_kept(ending: Ending, text: str, rejected: str | None) -> None:
    """A draft that was merely not sent is not sealed."""
    decision = decision_of(trace(), replace(ending, draft=Draft(text=text)))

    assert (decision.rejected_draft, decision.draft) == (rejected, None)


def test_a_snapshot_holds_what_a_reviewer_needs() -> None:
    """Spans as pairs, passages without their text, the error class of Guardrails."""
    run = trace()
    run.found(FINDING)
    draft = Draft(
        passages=(passage(found_by=FoundBy.BOTH),),
        assessment=assessment(signals={"words": 0.5}, reasons=("because",)),
        rechecked=(0.5, None),
    )
    ending = replace(endings.blocked_ending(Reason.FLAGGED_RULE, FINDING), draft=draft)
    kept = snapshot_json(decision_of(run, ending))

    assert kept["findings"][0]["span"] == [2, 6]
    assert kept["passages"] == [
        {"id": "1#1", "title": "Opening hours", "similarity": 0.9, "found_by": "both"}
    ]
    assert (kept["error_class"], kept["rechecked"]) == ("GUARDRAIL_PRE_BLOCKED", [0.5, None])
    assert kept["received_at"] == NOW.isoformat()
    assert "We are open" not in json.dumps(kept)


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_has_a_snapshot(reason: Reason) -> None:
    """The snapshot has the error class, or null where the ending is no error."""
    kept = snapshot_json(decision_of(trace(), endings.silent_ending(reason, "x")))

    assert kept["error_class"] in {"GUARDRAIL_PRE_BLOCKED", "GUARDRAIL_POST_BLOCKED", "LLM_ERROR", None}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), json_values, max_size=4), st.text(), st.floats(0, 1), st.text())
def test_a_snapshot_survives_json(
    metadata: dict[str, object], detail: str, score: float, evidence: str
) -> None:
    """Any text of a publisher or a vendor is read as it was written."""
    run = EventTrace(
        event=event(metadata=metadata, text=evidence or "x"), account=account(), clock=FakeClock()
    )
    run.attempt(Stage.GENERATION, 1, AttemptOutcome.TIMEOUT, detail=detail)
    draft = Draft(assessment=assessment(confidence=score, diagnostics={"any": evidence}))
    with run.stage(Stage.SCOPE) as note:
        note.detail["any"] = detail
    kept = snapshot_json(decision_of(run, replace(ENDING, draft=draft)))
    read = orjson.loads(orjson.dumps(kept))
    infinite = {float("inf"), float("-inf")}

    assert set(read) == set(kept)
    assert read["attempts"][0]["detail"] == detail[:300]
    assert read["assessment"]["confidence"] == score
    assert read["stages"][0]["detail"] == {"any": detail}
    if not infinite & {value for value in metadata.values() if isinstance(value, float)}:
        assert set(read["metadata"]) == set(metadata)


def test_a_failed_model_call_is_logged_when_it_happens() -> None:
    """With ids, kind and pause, not the vendor's text; a success after it is a line, a hold's call is not."""
    run = trace()
    with capture_logs() as lines:
        run.attempt(Stage.GENERATION, 1, AttemptOutcome.TIMEOUT, detail="vendor's words", waited_s=2, total=3)
        run.attempt(Stage.GENERATION, 2, AttemptOutcome.COMPLETED, total=3)
        run.attempt(Stage.GENERATION, 1, AttemptOutcome.COMPLETED, total=3)
        run.attempt(Stage.JUDGE, 2, AttemptOutcome.COMPLETED)
        run.attempt(Stage.MODERATION, 1, AttemptOutcome.TIMEOUT)

    ids = {
        "user_id": run.event.user_id,
        "event_id": run.event.event_id,
        "entry_id": run.event.entry_id,
        "stage": "generation",
        "total": 3,
    }
    failed = {"event": "attempt_failed", "log_level": "warning", "number": 1, "kind": "timeout"}
    failed |= {"wait_s": 2.0}
    assert lines == [failed | ids, {"event": "attempt_succeeded", "log_level": "info", "number": 2} | ids]
