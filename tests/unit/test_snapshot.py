"""The stored snapshot: what is written is read, and every release's rows can be read."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.fakes import FakeClock
from tests.support.samples import account, assessment, event, passage
from worker import endings
from worker.checks.verdict import verdict_of
from worker.concluding import decision_of
from worker.endings import Draft
from worker.model import (
    Assessment,
    Attempt,
    AttemptOutcome,
    Completion,
    EventType,
    Finding,
    Json,
    PriceTable,
    ScreenedPassage,
    Severity,
    Span,
    Stage,
    StageOutcome,
    StageRecord,
    Tokens,
)
from worker.reasons import Reason
from worker.snapshot import (
    CategoryScore,
    Snapshot,
    SnapshotAssessment,
    SnapshotAttempt,
    SnapshotFinding,
    SnapshotPassage,
    SnapshotStage,
    snapshot_json,
)
from worker.stored_json import UNREADABLE, object_writer
from worker.trace import EventTrace

FINDING = Finding(
    stage=Stage.RULES,
    code="flagged_keyword",
    severity=Severity.BLOCK,
    matched_rule="flagged_keyword:spam",
    evidence="Flagged keyword detected: 'spam'",
    how="exact",
    score=0.5,
    span=Span(start=2, end=6),
)
TEXTS = st.text(max_size=8)
NUMBERS = st.floats(-1e6, 1e6)
MOMENTS = st.datetimes(timezones=st.just(UTC))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(TEXTS, JSON, max_size=3)


def several(kind: type, **values: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    """Up to three of them."""
    return st.lists(st.builds(kind, **values), max_size=3).map(tuple)


SCREENED = ScreenedPassage(
    passage_id="2#1", title="Notes", text_hash="0" * 16, check="injection:override", evidence="Ignore all"
)
SNAPSHOTS = st.builds(
    Snapshot,
    entry_id=TEXTS,
    received_at=st.none() | MOMENTS,
    created_at=st.none() | MOMENTS,
    language=st.none() | TEXTS,
    attachments=st.lists(TEXTS, max_size=3).map(tuple),
    other_attachments=st.integers(0, 99),
    metadata=OBJECTS,
    type=TEXTS,
    parent_id=st.none() | TEXTS,
    answered_event=st.none() | TEXTS,
    rules_version=st.integers(0, 2**31),
    error_class=st.none() | TEXTS,
    stages=several(SnapshotStage, stage=TEXTS, outcome=TEXTS, duration_ms=NUMBERS, detail=OBJECTS),
    findings=several(
        SnapshotFinding,
        stage=TEXTS,
        code=TEXTS,
        severity=TEXTS,
        matched_rule=TEXTS,
        evidence=TEXTS,
        how=TEXTS,
        score=st.none() | NUMBERS,
        span=st.none() | st.tuples(st.integers(0, 500), st.integers(0, 500)),
    ),
    attempts=several(
        SnapshotAttempt,
        number=st.integers(1, 99),
        stage=TEXTS,
        outcome=TEXTS,
        duration_ms=NUMBERS,
        waited_s=NUMBERS,
        detail=TEXTS,
    ),
    passages=several(
        SnapshotPassage,
        passage_id=TEXTS,
        title=TEXTS,
        similarity=NUMBERS,
        found_by=TEXTS,
    ),
    tokens=st.builds(Tokens, prompt=st.integers(0, 999), completion=st.integers(0, 999)),
    models=st.dictionaries(TEXTS, TEXTS, max_size=3),
    prompt_hash=st.none() | TEXTS,
    assessment=st.none()
    | st.builds(
        SnapshotAssessment,
        policy=TEXTS,
        confidence=NUMBERS,
        tier=TEXTS,
        action=TEXTS,
        failed_checks=st.lists(TEXTS, max_size=3).map(tuple),
        signals=st.dictionaries(TEXTS, NUMBERS, max_size=3),
        diagnostics=OBJECTS,
        fallback_text=st.none() | TEXTS,
        measured=st.booleans(),
    ),
    rechecked=st.none() | st.tuples(NUMBERS, st.none() | NUMBERS),
    confidence_log=st.lists(OBJECTS, max_size=3).map(tuple),
    quarantined=st.booleans(),
    masked=st.dictionaries(TEXTS, st.integers(1, 99), max_size=3),
    screened=several(
        ScreenedPassage, passage_id=TEXTS, title=TEXTS, text_hash=TEXTS, check=TEXTS, evidence=TEXTS
    ),
)


def stored() -> dict[str, Any]:
    """A row's snapshot with something in every field."""
    run = EventTrace(
        event=event(
            language="en",
            attachments=("https://example.org/a.png",),
            other_attachments=2,
            type=EventType.MESSAGE_EDITED,
            parent_id="m0",
            notes=("language: expected a BCP 47 tag, got english",),
            metadata={"labels": {"grade": "9"}},
            received_at=datetime.now(UTC),
            created_at=datetime.now(UTC) - timedelta(hours=1),
        ),
        account=account(),
        clock=FakeClock(),
    )
    with run.stage(Stage.RULES) as note:
        note.outcome, note.detail["word"] = StageOutcome.FLAGGED, "spam"
    run.found(FINDING)
    run.attempt(Stage.GENERATION, 1, AttemptOutcome.COMPLETED, waited_s=1.5, duration_ms=12.0, detail="x")
    run.completed("completion", Completion(text="x", model="m", tokens=Tokens(prompt=5, completion=2)))
    draft = Draft(
        passages=(passage(),),
        prompt_hash="0" * 64,
        assessment=assessment(signals={"words": 0.5}, diagnostics={"any": [1]}),
        rechecked=(0.5, None),
    )
    run.confidence_log.append({"score": 0.4})
    ending = endings.blocked_ending(Reason.FLAGGED_RULE, FINDING)
    run.screened.append(SCREENED)
    decision = decision_of(run, replace(ending, draft=draft, answered_event="e2"), masked={"email": 2})
    decision = replace(decision, costs=PriceTable().lines(decision.usage, decision.decided_at.date()))
    decision = replace(decision, check=verdict_of(decision, shadow=True, fail_open=False))
    kept: dict[str, Any] = orjson.loads(orjson.dumps(snapshot_json(decision)))
    return kept


@given(SNAPSHOTS)
def test_a_snapshot_is_read_as_it_was_written(snapshot: Snapshot) -> None:
    """Through the bytes that the database stores."""
    written = orjson.dumps(object_writer(Snapshot)(snapshot))

    assert Snapshot.from_json(orjson.loads(written)) == snapshot


def test_every_field_of_a_decision_is_stored_and_read() -> None:
    """No declared field is left at its default."""
    kept = stored()
    snapshot, empty = Snapshot.from_json(kept), Snapshot()
    same = {
        each.name for each in fields(Snapshot) if getattr(snapshot, each.name) == getattr(empty, each.name)
    }

    assert same == {"unreadable"}
    assert orjson.loads(orjson.dumps(object_writer(Snapshot)(snapshot))) == kept
    assert snapshot.findings[0].span == (2, 6)
    assert snapshot.passages[0].passage_id == "1#1"
    assert snapshot.screened[0].check == "injection:override"
    assert snapshot.masked == {"email": 2}


@pytest.mark.parametrize(
    ("kind", "stored_as"),
    [
        (Assessment, SnapshotAssessment),
        (Attempt, SnapshotAttempt),
        (StageRecord, SnapshotStage),
    ],
)
def test_every_field_of_the_model_is_declared_for_storage(kind: type, stored_as: type) -> None:
    """A new field of the model is stored, or named here on purpose."""
    assert {each.name for each in fields(kind)} - {"started_s"} == {each.name for each in fields(stored_as)}


def test_a_row_of_an_older_release_has_defaults_for_what_it_lacks() -> None:
    """Nothing is reported, as nothing is wrong."""
    assert Snapshot.from_json({}) == Snapshot()
    assert Snapshot.from_json({"stages": [{"stage": "rules", "outcome": "passed"}]}).stages == (
        SnapshotStage(stage="rules", outcome="passed"),
    )


def test_a_row_of_a_newer_release_is_read_without_what_it_added() -> None:
    """Unknown keys are ignored, unknown outcomes kept as words."""
    kept = stored()
    kept["mood"] = kept["stages"][0]["mood"] = "good"
    kept["stages"][0]["outcome"] = "postponed"
    snapshot = Snapshot.from_json(kept)

    assert snapshot.unreadable == ()
    assert snapshot.stages[0].outcome == "postponed"


@pytest.mark.parametrize(
    ("changes", "unreadable", "name", "value"),
    [
        ({"entry_id": 7}, ("entry_id",), "entry_id", UNREADABLE),
        ({"rules_version": "one"}, ("rules_version",), "rules_version", 0),
        ({"quarantined": 1}, ("quarantined",), "quarantined", False),
        ({"received_at": "yesterday"}, ("received_at",), "received_at", None),
        ({"received_at": "2026-11-22T10:00:00"}, ("received_at",), "received_at", None),
        ({"stages": {}}, ("stages",), "stages", ()),
        (
            {"stages": [{"stage": "rules", "outcome": "passed", "duration_ms": "long"}]},
            ("stages[0].duration_ms",),
            "stages",
            (SnapshotStage(stage="rules", outcome="passed"),),
        ),
        ({"stages": [7]}, ("stages[0]",), "stages", (SnapshotStage(),)),
        ({"rechecked": [0.1, "up"]}, ("rechecked",), "rechecked", None),
        ({"rechecked": [0.1]}, ("rechecked",), "rechecked", None),
        ({"models": {"completion": 7}}, ("models.completion",), "models", {"completion": UNREADABLE}),
        ({"tokens": {"prompt": True}}, ("tokens.prompt",), "tokens", Tokens()),
        ({"assessment": "good"}, ("assessment",), "assessment", None),
    ],
)
def test_a_value_of_a_wrong_type_is_named_and_replaced(
    changes: dict[str, Any], unreadable: tuple[str, ...], name: str, value: object
) -> None:
    """The rest of the snapshot is read."""
    snapshot = Snapshot.from_json(stored() | changes)

    assert (snapshot.unreadable, getattr(snapshot, name)) == (unreadable, value)
    assert snapshot.attempts


@given(JSON | st.fixed_dictionaries({}, optional={each.name: JSON for each in fields(Snapshot)}))
def test_no_stored_value_makes_reading_fail(value: object) -> None:
    """A reviewer sees the rest of the page."""
    snapshot = Snapshot.from_json(value)

    assert isinstance(snapshot, Snapshot)
    assert all(stage.highest is not None for stage in snapshot.stages)


def test_moderation_scores_of_a_stage_are_read_with_their_thresholds() -> None:
    """A category without one follows the API's own flag."""
    highest: dict[str, Json] = {
        "hate": {"score": 0.9, "threshold": 0.7},
        "violence": {"score": 0.2, "threshold": None},
    }
    stage = SnapshotStage(stage="moderation", outcome="passed", detail={"highest": highest})

    assert stage.highest == {
        "hate": CategoryScore(score=0.9, threshold=0.7),
        "violence": CategoryScore(score=0.2),
    }
