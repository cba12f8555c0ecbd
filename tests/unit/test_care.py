"""Covers of the organisation."""

from __future__ import annotations

from uuid import uuid4

import pytest
from pydantic import ValidationError

from db.people.records import Person
from review.content_covers import with_organisation_covers
from worker.settings import ReviewSettings


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
    """And for everybody where it requires that; nobody is kept from covering more."""
    site = settings(HUSHGATE_REVIEW_COVERS=f"hate, violence{required}")
    found = with_organisation_covers(person(*covered, own=own), site).covered

    assert set(found) == expected
    assert len(found) == len(expected)


def test_an_unknown_category_is_refused() -> None:
    """The message names the known ones."""
    with pytest.raises(ValidationError, match="self-harm/intent"):
        settings(HUSHGATE_REVIEW_COVERS="hate,spam")
