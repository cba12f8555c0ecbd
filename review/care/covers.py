"""Which categories are covered for a person: those of the organisation, and the person's own."""

from __future__ import annotations

from dataclasses import dataclass, replace

from db.people.records import Person
from review.content_covers import CATEGORIES
from worker.settings import ReviewSettings
from worker.settings.review import split_categories


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverChoice:
    """What a person stores: more than the organisation covers, and less, each as categories."""

    covered: tuple[str, ...]
    uncovered: tuple[str, ...]


def organisation_covers(settings: ReviewSettings) -> frozenset[str]:
    """The categories that are covered for everyone."""
    return frozenset(split_categories(settings.covered))


def with_covers(person: Person, settings: ReviewSettings) -> Person:
    """The person with all categories that are covered for them."""
    default = organisation_covers(settings)
    removed = frozenset() if settings.covers_kept else frozenset(person.uncovered)
    covered = (default - removed) | frozenset(person.covered)
    return replace(person, covered=tuple(each for each in CATEGORIES if each in covered))


def choice_of(chosen: frozenset[str], person: Person, settings: ReviewSettings) -> CoverChoice:
    """What to store when a person ticked these categories; one that the organisation keeps stays covered."""
    default = organisation_covers(settings)
    removed = frozenset(person.uncovered) if settings.covers_kept else default - chosen
    return CoverChoice(
        covered=tuple(each for each in CATEGORIES if each in chosen - default),
        uncovered=tuple(each for each in CATEGORIES if each in removed),
    )
