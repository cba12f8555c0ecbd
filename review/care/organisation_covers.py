"""The categories that the organisation covers for its people."""

from __future__ import annotations

from dataclasses import replace

from db.people.records import Person
from worker.settings import ReviewSettings


def organisation_covers(settings: ReviewSettings) -> tuple[str, ...]:
    """The categories of ``HUSHGATE_REVIEW_COVERS``."""
    return tuple(each.strip() for each in settings.covers.split(",") if each.strip())


def with_organisation_covers(person: Person, settings: ReviewSettings) -> Person:
    """The person with the categories to cover: their own, else the organisation's, or both."""
    default = organisation_covers(settings)
    if person.own_covers and not settings.covers_required:
        return person
    added = tuple(each for each in default if each not in person.covered)
    return replace(person, covered=person.covered + added) if added else person
