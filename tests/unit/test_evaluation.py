"""Golden sets: rows that are read, figures against their definition, and bounds."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import orjson
import pytest

from trials.pure.evaluation.figures import (
    MEASURES,
    ItemResult,
    bounds_of,
    figures_json,
    figures_of,
    nearest_rank,
)
from trials.pure.evaluation.items import (
    Expected,
    GoldenItem,
    GoldenLabel,
    GoldenRejected,
    GoldenSource,
    content_json,
    content_of,
)
from trials.pure.evaluation.recorded import ruled_label
from trials.pure.evaluation.rows import imported_row, row_json
from trials.pure.replay.difference import ReplayOutcome

NOW = datetime(2026, 11, 23, 17, tzinfo=UTC)
FULL: dict[str, Any] = {
    "id": "r1",
    "text": "And on Sunday?",
    "expected": "answer",
    "reply": "It is closed.",
    "labelled_by": "kim",
    "scope": "comment",
    "language": "en",
    "author_id": "a",
    "conversation_id": "c",
    "message_id": "m",
    "created_at": "2026-11-01T10:00:00+00:00",
    "metadata": {"labels": {"shop": "1"}},
    "history": [{"role": "author", "text": "Open?"}, {"role": "ai", "text": "Yes."}],
    "passages": [{"id": "1#1", "title": "Hours", "text": "Closed.", "similarity": 0.5, "labels": {"a": "b"}}],
}


def read(**changes: Any) -> Any:
    """The row with changes."""
    return imported_row(json.dumps({"text": "Hi", "expected": "answer", **changes}).encode(), "shop", NOW)


def result(expected: Expected, answered: bool, **more: Any) -> ItemResult:
    """A result of an item; a silent one ended with FLAGGED_RULE."""
    label = GoldenLabel(expected=expected, reason=more.pop("wanted", None))
    values = {"row_id": "x", "reason": "" if answered else "FLAGGED_RULE", "failure": "", "latency_s": 0.1}
    return ItemResult(label=label, answered=answered, **values | more)


def test_a_row_is_written_as_it_was_read() -> None:
    """An export can be imported again, and the stored form keeps every value."""
    row = imported_row(json.dumps(FULL).encode(), "shop", NOW)
    item = GoldenItem(
        item_id=UUID(int=1),
        row_id=row.row_id,
        source=GoldenSource.IMPORT,
        decision_id=None,
        label=row.label,
        recorded_at=NOW,
        content=content_of(content_json(row.content)),
    )
    again = imported_row(orjson.dumps(row_json(item)), "shop", NOW)

    assert item.content == row.content
    assert again == row
    assert row.content.event.created_at == datetime(2026, 11, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"expected": "maybe"}, "expected: expected"),
        ({"text": ""}, "text: expected"),
        ({"text": 5}, "text: expected"),
        ({"text": "x" * 20_001}, "text: expected"),
        ({"typo": 1}, "typo: expected"),
        ({"reason": "NO_SUCH"}, "reason: expected"),
        ({"reason": "FLAGGED_RULE"}, "reason: expected none beside an answer"),
        ({"history": [{"role": "robot", "text": "x"}]}, "history.0.role: expected"),
        ({"passages": [{"id": "1", "text": "x", "similarity": 2}]}, "passages.0.similarity: expected"),
        ({"created_at": "yesterday"}, "created_at: expected"),
        ({"id": ""}, "id: expected"),
    ],
)
def test_a_wrong_row_names_its_field(changes: dict[str, Any], message: str) -> None:
    """The message has the field, what was expected and what came."""
    with pytest.raises(GoldenRejected) as refused:
        read(**changes)
    assert str(refused.value).startswith(message)
    assert ", got " in str(refused.value)


@pytest.mark.parametrize("line", [b"", b"[]", b"{", b"\xff", b"null"])
def test_a_line_that_is_no_object_is_refused(line: bytes) -> None:
    """Whatever the bytes are."""
    with pytest.raises(GoldenRejected, match="expected"):
        imported_row(line, "shop", NOW)


def test_rows_without_an_id_have_one_of_their_line() -> None:
    """The same line has the same id, and no two rows share a conversation or an author."""
    first, again, other = read(), read(), read(text="Ho")

    assert first == again
    assert first.row_id != other.row_id
    assert first.content.event.author_id == first.content.event.conversation_id == first.row_id


def test_figures_count_each_item_once() -> None:
    """Precision, recall, accuracy and reasons as defined; failed items are in none of them."""
    results = [
        *[result(Expected.ANSWER, True, usd=0.25)] * 3,
        result(Expected.SILENT, True),
        *[result(Expected.SILENT, False, wanted="FLAGGED_RULE")] * 4,
        result(Expected.SILENT, False, wanted="NO_EVIDENCE"),
        *[result(Expected.ANSWER, False)] * 2,
        result(Expected.SILENT, False, failure="LLM_ERROR", unpriced=("m",)),
    ]
    found = figures_of(results, items=13)
    shares = {name: (each.hits, each.total) for name in MEASURES if (each := found.share(name))}

    assert shares == {
        "precision": (3, 4),
        "recall": (3, 5),
        "accuracy": (8, 11),
        "reasons": (4, 5),
        "decided": (11, 13),
    }
    assert (found.failures, found.usd, found.unpriced) == ({"LLM_ERROR": 1}, 0.75, ("m",))
    assert figures_json(found)["precision"]["low"] == pytest.approx(0.300642, abs=1e-6)


def test_latency_is_the_nearest_rank() -> None:
    """Of twenty values the 19th is the 95th percentile; of none there is none."""
    values = [float(each) for each in range(1, 21)]

    assert [nearest_rank(values, share) for share in (0.5, 0.95)] == [10.0, 19.0]
    assert nearest_rank([], 0.5) is None


def test_bounds_are_met_or_say_what_came() -> None:
    """A failed item breaks the bound that is always there; what was not measured meets no bound."""
    good = figures_of([result(Expected.ANSWER, True)] * 9 + [result(Expected.SILENT, True)], items=10)
    failed = figures_of([result(Expected.ANSWER, True), result(Expected.ANSWER, False, failure="X")], items=2)

    def problems(figures: Any, *texts: str) -> list[str | None]:
        return [each.problem(figures) for each in bounds_of(texts)]

    assert problems(good, "precision=0.9") == [None, None]
    assert problems(good, "precision=0.91")[0] == "precision: expected at least 0.91, got 0.9000"
    assert problems(good, "precision_low=0.7")[0] == "precision_low: expected at least 0.7, got 0.5958"
    assert problems(good, "reasons=0")[0] == "reasons: expected at least 0, got nothing to measure"
    assert problems(failed) == ["decided: expected at least 1, got 0.5000"]
    assert problems(failed, "decided=0.5") == [None]
    for wrong in ("precision", "f1=0.5", "precision=2", "precision=nan", "precision=x", "low=1"):
        with pytest.raises(GoldenRejected, match="expected"):
            bounds_of([wrong])


@pytest.mark.parametrize(
    ("ruling", "corrected", "reason_code", "label"),
    [
        ("agree", None, "REPLIED", (Expected.ANSWER, None)),
        ("agree", None, "FLAGGED_RULE", (Expected.SILENT, "FLAGGED_RULE")),
        ("agree", None, "LLM_ERROR", None),
        ("agree", None, "AI_DISABLED", None),
        ("overturn", None, "FLAGGED_RULE", (Expected.ANSWER, None)),
        ("overturn", None, "REPLIED", (Expected.SILENT, None)),
        ("overturn", "respond", "REPLIED", (Expected.ANSWER, None)),
        ("overturn", "escalate", "FLAGGED_RULE", (Expected.SILENT, None)),
        ("overturn", "respond", "LLM_ERROR", (Expected.ANSWER, None)),
        ("overturn", None, "TOO_LATE", None),
    ],
)
def test_a_ruling_gives_a_label(
    ruling: str, corrected: str | None, reason_code: str, label: tuple[Expected, str | None] | None
) -> None:
    """A decision that ended for what is not in its message has none, unless a person corrected it."""
    replied = reason_code == "REPLIED"
    outcome = ReplayOutcome(
        kind="respond" if replied else "ignore",
        reason_code=reason_code,
        reason="",
        confidence=1.0,
        matched_rule=None,
        reply="Yes." if replied else None,
        snapshot={},
    )
    found = ruled_label(ruling, corrected, outcome, "kim, lee")

    assert (found and (found.expected, found.reason)) == label


def test_times_of_rows_are_the_messages() -> None:
    """A row without a time is of the import."""
    assert read().content.event.created_at == NOW
    with pytest.raises(GoldenRejected, match="created_at"):
        read(created_at=(NOW + timedelta(days=3)).isoformat())
