"""The stage trace and the snapshot that keeps it."""

from __future__ import annotations

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.fakes import FakeClock
from tests.unit.samples import NOW, account, assessment, event, passage
from worker import policy
from worker.model import Completion, Finding, FoundBy, Severity, Span, StageOutcome, Tokens
from worker.policy import Ending, Reason
from worker.snapshot import snapshot
from worker.trace import MOST_ATTEMPTS, Trace

ENDING = policy.silent(Reason.AI_DISABLED, "off")
FINDING = Finding(
    stage="rules",
    code="flagged_keyword",
    severity=Severity.BLOCK,
    matched_rule="flagged_keyword:spam",
    evidence="Flagged keyword detected: 'spam'",
    how="exact",
    span=Span(start=2, end=6),
)


def trace() -> Trace:
    """An empty one."""
    return Trace(event=event(), account=account(), clock=FakeClock())


async def test_a_stage_is_timed_and_keeps_its_note() -> None:
    """In milliseconds of the clock that was handed in."""
    run = trace()
    with run.stage("history") as note:
        note.detail["lines"] = 3
        await run.clock.sleep(0.25)

    assert [(s.stage, s.outcome, s.duration_ms, s.detail) for s in run.stages] == [
        ("history", StageOutcome.PASSED, 250.0, {"lines": 3})
    ]


@pytest.mark.parametrize("error", [ValueError("bug"), KeyboardInterrupt()])
def test_an_error_marks_its_stage_failed_and_rises(error: BaseException) -> None:
    """The trace is whole even then."""
    run = trace()
    with pytest.raises(type(error)), run.stage("generation"):
        raise error

    assert [stage.outcome for stage in run.stages] == [StageOutcome.FAILED]


def test_attempts_of_one_stage_are_bounded_and_the_last_counts_them() -> None:
    """Other stages keep all of theirs."""
    run = trace()
    for number in range(1, 501):
        run.attempt("moderation", number, "timeout")
    run.attempt("generation", 1, "completed", detail="x" * 999)
    numbers = [attempt.number for attempt in run.attempts if attempt.stage == "moderation"]

    assert numbers == [*range(1, MOST_ATTEMPTS), 500]
    assert (run.attempts[-1].stage, len(run.attempts[-1].detail)) == ("generation", 300)


def test_tokens_add_up_and_the_last_model_is_named() -> None:
    """Per purpose."""
    run = trace()
    for number in (1, 2):
        run.completed(
            "completion", Completion(text="x", model=f"m{number}", tokens=Tokens(prompt=5, completion=2))
        )
    decision = run.decision(ENDING)

    assert (decision.tokens, decision.models) == (Tokens(prompt=10, completion=4), {"completion": "m2"})


@pytest.mark.parametrize(
    ("passed", "ending", "remember", "draft"),
    [
        (False, ENDING, False, None),
        (True, ENDING, True, None),
        (True, policy.blocked(Reason.REPLY_FLAGGED_RULE, FINDING), False, "Nine."),
        (False, policy.blocked(Reason.FLAGGED_RULE, FINDING), False, "Nine."),
    ],
)
def test_what_is_remembered_follows_from_the_ending(
    passed: bool, ending: Ending, remember: bool, draft: str | None
) -> None:
    """A sealed exchange is not, and only its draft is kept."""
    run = trace()
    run.message_passed, run.draft_text = passed, "Nine."
    decision = run.decision(ending)

    assert (decision.remember, decision.rejected_draft) == (remember, draft)


def test_a_snapshot_holds_what_a_reviewer_needs() -> None:
    """Spans as pairs, passages without their text, the error class of the system this continues."""
    run = trace()
    run.found(FINDING)
    run.passages = (passage(percentile=0.97, found_by=FoundBy.BOTH),)
    run.assessment = assessment(signals={"words": 0.5}, reasons=("because",))
    run.rechecked = (0.5, None)
    kept = snapshot(run.decision(policy.blocked(Reason.FLAGGED_RULE, FINDING)))

    assert kept["findings"][0]["span"] == [2, 6]
    assert kept["passages"] == [
        {"id": "1#1", "title": "Opening hours", "similarity": 0.9, "percentile": 0.97, "found_by": "both"}
    ]
    assert (kept["error_class"], kept["rechecked"]) == ("GUARDRAIL_PRE_BLOCKED", [0.5, None])
    assert kept["received_at"] == NOW.isoformat()
    assert "We are open" not in json.dumps(kept)


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_has_a_snapshot(reason: Reason) -> None:
    """With its class, or null where the ending is no error."""
    kept = snapshot(trace().decision(policy.silent(reason, "x")))

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
    """What is written is what is read, whatever a publisher or a vendor put into it."""
    run = Trace(event=event(metadata=metadata, text=evidence or "x"), account=account(), clock=FakeClock())
    run.attempt("generation", 1, "timeout", detail=detail)
    run.assessment = assessment(confidence=score, diagnostics={"any": evidence})
    with run.stage("scope") as note:
        note.detail["any"] = detail
    kept = snapshot(run.decision(ENDING))
    read = orjson.loads(orjson.dumps(kept))
    infinite = {float("inf"), float("-inf")}

    assert set(read) == set(kept)
    assert read["attempts"][0]["detail"] == detail[:300]
    assert read["assessment"]["confidence"] == score
    assert read["stages"][0]["detail"] == {"any": detail}
    if not infinite & {value for value in metadata.values() if isinstance(value, float)}:
        assert set(read["metadata"]) == set(metadata)
