"""The groups into which a trial counts decisions, and their counts as lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from trials.pure.replay.difference import DifferenceKind


class ReplayState(StrEnum):
    """What came of a stored decision; all but ``MADE`` are counted and never guessed.

    Attributes:
        MADE: made again.
        ERASED: only a tombstone is stored.
        NOT_RECORDED: without a recording, or not any more.
        UNREADABLE: the recording is damaged, or of another form.
        NO_SETTINGS: the version of its settings is not stored.
        NEEDS_ANSWERS: something would have to be asked that was not asked then.
        FAILED: the settings could not decide it: a bug, or a candidate that breaks the engine.
    """

    MADE = "made"
    ERASED = "erased"
    NOT_RECORDED = "not_recorded"
    UNREADABLE = "unreadable"
    NO_SETTINGS = "no_settings"
    NEEDS_ANSWERS = "needs_answers"
    FAILED = "failed"


class SkippedGroup(StrEnum):
    """Decisions that a shadow did not make again.

    Attributes:
        DROPPED: too old before their turn came.
        OVER_BUDGET: the account's decisions of the day were used up.
    """

    DROPPED = "dropped"
    OVER_BUDGET = "over_budget"


DIFFERENCES: Final = tuple(each for each in DifferenceKind if each is not DifferenceKind.UNCHANGED)
FOUND: Final = frozenset({*DIFFERENCES, ReplayState.NEEDS_ANSWERS})
"""Groups whose decisions are kept as differences, and whose reviews are counted."""
GROUPS: Final[tuple[str, ...]] = (
    *DifferenceKind,
    ReplayState.NEEDS_ANSWERS,
    ReplayState.NOT_RECORDED,
    ReplayState.ERASED,
    *SkippedGroup,
    ReplayState.UNREADABLE,
    ReplayState.NO_SETTINGS,
    ReplayState.FAILED,
)
"""Every group, in the order of pages and commands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCount:
    """The decisions of a group.

    Attributes:
        share: 0..1, among all decisions that were counted.
        reviewed: decisions with an agreeing or overturning review; None where these are not counted.
        overturned: of the reviewed ones.
        called_wrong: decisions whose reply a customer calls wrong; no review.
    """

    name: str
    decisions: int
    share: float
    reviewed: int | None
    overturned: int
    called_wrong: int


def group_counts(
    counts: Mapping[str, Any], total: int, *, always: Iterable[str] = ()
) -> tuple[GroupCount, ...]:
    """The groups with decisions, and those of ``always``, in the order of ``GROUPS``."""
    shown = frozenset(always)
    return tuple(_count(counts, total, name) for name in GROUPS if name in shown or counts.get(name))


def _count(counts: Mapping[str, Any], total: int, name: str) -> GroupCount:
    decisions, overturned = (int(counts.get(key, 0)) for key in (name, f"{name}.overturn"))
    return GroupCount(
        name=name,
        decisions=decisions,
        share=decisions / total if total else 0.0,
        reviewed=int(counts.get(f"{name}.agree", 0)) + overturned if name in FOUND else None,
        overturned=overturned,
        called_wrong=int(counts.get(f"{name}.wrong", 0)),
    )
