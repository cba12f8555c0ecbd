"""What a backtest counted, in words: its groups, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from review.languages import mark
from trials.pages.wording import GROUPS, LEFT_OUT, NOT_MADE
from trials.pure.replay.difference import DifferenceKind
from trials.store.backtests import Backtest
from trials.store.replaying import ReplayState

TITLES: Final = {**GROUPS, **LEFT_OUT}
MEANINGS: Final[Mapping[str, str]] = {
    **NOT_MADE,
    DifferenceKind.NEWLY_STOPPED: mark("Got a reply, and would get none."),
    DifferenceKind.NEWLY_RELEASED: mark("Got no reply, and would get one."),
    DifferenceKind.OTHER_REPLY: mark("Would get a reply with another text."),
    DifferenceKind.OTHER_ENDING: mark("The same reply or none, for another reason or rule."),
    DifferenceKind.UNCHANGED: mark("The same reply or none, for the same reason."),
}
"""Total over the groups of a backtest."""
REVIEWED: Final = frozenset({*DifferenceKind, ReplayState.NEEDS_ANSWERS}) - {DifferenceKind.UNCHANGED}
"""Groups whose reviews a backtest counts."""
ALWAYS: Final = frozenset({*DifferenceKind, ReplayState.NEEDS_ANSWERS})
"""Groups that are shown without decisions too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BacktestGroup:
    """A group of decisions that were made again.

    Attributes:
        share: of all decisions that were counted, 0..1.
        reviewed: decisions with an agreeing or overturning review; None where these are not counted.
        overturned: of the reviewed ones.
    """

    name: str
    title: str
    meaning: str
    decisions: int
    share: float
    reviewed: int | None
    overturned: int


def backtest_groups(found: Backtest) -> tuple[BacktestGroup, ...]:
    """The groups in the order of the pages; further ones only with decisions."""
    return tuple(_group(found, name) for name in TITLES if name in ALWAYS or found.counts.get(name))


def _group(found: Backtest, name: str) -> BacktestGroup:
    decisions, overturned = (int(found.counts.get(key, 0)) for key in (name, f"{name}.overturn"))
    return BacktestGroup(
        name=name,
        title=TITLES[name],
        meaning=MEANINGS.get(name, ""),
        decisions=decisions,
        share=decisions / found.done if found.done else 0.0,
        reviewed=int(found.counts.get(f"{name}.agree", 0)) + overturned if name in REVIEWED else None,
        overturned=overturned,
    )
