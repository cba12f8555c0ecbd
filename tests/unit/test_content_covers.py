"""Covers: those of the organisation, and which texts are covered for a person."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from pydantic import ValidationError

from db.people.records import Person
from review import content_covers
from review.content_covers import with_organisation_covers
from worker.settings import ReviewSettings
from worker.snapshot import Snapshot, SnapshotFinding


def decided(matched_rule: str | None = None, **highest: float) -> tuple[dict[str, Any], Snapshot]:
    """A decision with these moderation scores, and its snapshot."""
    detail = {"highest": {name: {"score": score, "threshold": None} for name, score in highest.items()}}
    stages = [{"stage": "rules", "detail": {}}, {"stage": "moderation", "detail": detail}]
    return {"matched_rule": matched_rule}, Snapshot.from_json({"stages": stages})


@pytest.mark.parametrize(
    ("chosen", "decision", "covered"),
    [
        ((), decided("openai_moderation:hate", hate=0.9), ()),
        (("hate",), decided("openai_moderation:hate", hate=0.9), ("hate",)),
        (("hate",), decided("openai_moderation:hate/threatening"), ("hate/threatening",)),
        (("hate/threatening",), decided("openai_moderation:hate"), ()),
        (("sexual",), decided("openai_moderation:hate", sexual=0.5), ("sexual",)),
        (("sexual",), decided("openai_moderation:hate", sexual=0.49), ()),
        (("violence",), decided(None, violence=0.6), ("violence",)),
        (("violence", "hate"), decided(None, violence=0.6, hate=0.7), ("hate", "violence")),
        ((content_covers.RULE,), decided("flagged_keyword:knife"), (content_covers.RULE,)),
        (("violence",), decided("flagged_keyword:knife"), ()),
        (("self-harm",), decided("openai_moderation:self-harming"), ()),
        (("violence",), decided("house:Violence"), ("violence",)),
        (("violence",), decided("llama:S1"), ()),
        ((content_covers.RULE,), decided("llama:S1"), (content_covers.RULE,)),
        (("violence",), decided(None, **{"house:violence": 0.6}), ("violence",)),
        ((content_covers.RULE,), decided(None, **{"llama:S1": 0.6}), (content_covers.RULE,)),
    ],
)
def test_a_text_is_covered_by_what_it_was_flagged_for_or_scored_high_in(
    chosen: tuple[str, ...], decision: tuple[dict[str, Any], Snapshot], covered: tuple[str, ...]
) -> None:
    """A category covers its subcategories, never other categories."""
    assert content_covers.cover_reason(chosen, *decision) == covered


def test_a_list_without_snapshots_covers_the_same() -> None:
    """The database names the categories there."""
    listed = {"matched_rule": None, "high_score_categories": ["violence"]}

    assert content_covers.cover_reason(("violence",), listed) == ("violence",)
    assert (
        content_covers.cover_reason(("violence",), {"matched_rule": None, "high_score_categories": None})
        == ()
    )


def test_a_rejected_draft_covers_its_decision() -> None:
    """The message was harmless, the draft was not, and one page shows both."""
    row, snapshot = decided()
    snapshot = replace(snapshot, findings=(SnapshotFinding(matched_rule="openai_moderation:sexual"),))

    assert content_covers.cover_reason(("sexual",), row, snapshot) == ("sexual",)


def test_a_category_we_do_not_know_is_named_as_the_model_named_it() -> None:
    """A newer model may have more of them."""
    assert (content_covers.category_wording("hate"), content_covers.category_wording("gambling")) == (
        "hate",
        "gambling",
    )


def settings(**given: str) -> ReviewSettings:
    """Settings with these variables."""
    needed = {"DATABASE_URL": "postgresql://u@127.0.0.1/x", "REDIS_URL": "redis://127.0.0.1/0"}
    return ReviewSettings.model_validate(needed | given)


def person(*covered: str, own: bool) -> Person:
    """A person with these covers."""
    return Person(person_id=uuid4(), login="a", name="A", covered=covered, own_covers=own)


@pytest.mark.parametrize(
    ("own", "covered", "required", "expected"),
    [
        (False, (), "", {"hate", "violence"}),
        (True, (), "", set()),
        (True, ("sexual",), "", {"sexual"}),
        (True, ("sexual",), ", required", {"sexual", "hate", "violence"}),
        (True, ("hate",), ", required", {"hate", "violence"}),
    ],
)
def test_the_organisation_covers_for_who_chose_nothing(
    own: bool, covered: tuple[str, ...], required: str, expected: set[str]
) -> None:
    """A required cover applies to every person; each person may cover more."""
    site = settings(HUSHGATE_REVIEW_COVERS=f"hate, violence{required}")
    found = with_organisation_covers(person(*covered, own=own), site).covered

    assert set(found) == expected
    assert len(found) == len(expected)


def test_an_unknown_category_is_refused() -> None:
    """The message names the known ones."""
    with pytest.raises(ValidationError, match="self-harm/intent"):
        settings(HUSHGATE_REVIEW_COVERS="hate,spam")
