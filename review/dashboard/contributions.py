"""What the change of a figure is made of, as tables whose parts add up to it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from markupsafe import Markup

from db.figures.parts import CountMeasure, Dimension, PartCount
from review.charts.svg import decoration, share, tag
from review.dashboard.tiles import Compared
from review.figures.ranges import Range, decisions_link
from review.languages import gettext as _
from review.languages import mark

MEASURES: Final[Mapping[CountMeasure, str]] = {
    CountMeasure.DECISIONS: mark("Decisions"),
    CountMeasure.REPLIES: mark("Replied"),
    CountMeasure.ESCALATED: mark("Handed to a person"),
    CountMeasure.BLOCKED: mark("Blocked"),
    CountMeasure.FAILED: mark("Silent failures"),
}
TITLES: Final[Mapping[Dimension, str]] = {
    Dimension.ACCOUNT: mark("By account"),
    Dimension.RULE: mark("By rule"),
    Dimension.REASON: mark("By reason"),
    Dimension.MODEL: mark("By model"),
    Dimension.LANGUAGE: mark("By language"),
}
FILTERS: Final[Mapping[CountMeasure, dict[str, str]]] = {
    CountMeasure.DECISIONS: {},
    CountMeasure.REPLIES: {"decision": "respond"},
    CountMeasure.ESCALATED: {"decision": "escalate"},
    CountMeasure.BLOCKED: {"reason": "blocked"},
    CountMeasure.FAILED: {"reason": "failed"},
}
LISTED: Final = (Dimension.ACCOUNT, Dimension.RULE, Dimension.REASON)
"""Dimensions that the list of decisions has a filter for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """One part of a change.

    Attributes:
        value: of the dimension; None for everything that has no line, see ``rest``.
        href: the decisions now; None where no filter selects exactly these.
        href_before: the decisions before.
        bar: the change as a bar to the left or right of a middle line.
    """

    value: str | None
    now: int
    before: int
    bar: Markup
    href: str | None = None
    href_before: str | None = None

    @property
    def change(self) -> int:
        """More, or fewer."""
        return self.now - self.before

    @property
    def signed(self) -> str:
        """The change with its sign."""
        return signed_number(self.change)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeTable:
    """The parts of one change by one dimension; they add up to it exactly."""

    dimension: Dimension
    title: str
    lines: tuple[Contribution, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeTab:
    """A measure that a reader can choose, with its change."""

    measure: CountMeasure
    title: str
    now: int
    before: int
    signed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeView:
    """The change of the chosen measure and its tables."""

    measure: CountMeasure
    tabs: tuple[ChangeTab, ...]
    chosen: ChangeTab
    tables: tuple[ChangeTable, ...]


def signed_number(by: int) -> str:
    """A change with its sign."""
    return f"{by:+d}".replace("-", "\N{MINUS SIGN}") if by else "0"


def largest_change(compared: Compared) -> CountMeasure:
    """The measure that changed most beyond chance: its change by the square root of both counts."""

    def beyond_chance(measure: CountMeasure) -> float:
        now, before = _counts(compared, measure)
        return abs(now - before) / math.sqrt(max(1, now + before))

    return max(CountMeasure, key=beyond_chance)


def change_view(
    parts: Iterable[PartCount],
    compared: Compared,
    measure: CountMeasure,
    chosen: Range,
    filters: Mapping[str, str],
) -> ChangeView:
    """The parts of the change of a measure; ``compared`` has a range before."""
    found = tuple(parts)
    tabs = {each: _tab(each, compared) for each in CountMeasure}
    tables = (
        _table(
            dimension, [part for part in found if part.dimension is dimension], tabs[measure], chosen, filters
        )
        for dimension in Dimension
        if not (dimension is Dimension.ACCOUNT and "account" in filters)
    )
    return ChangeView(
        measure=measure,
        tabs=tuple(tabs.values()),
        chosen=tabs[measure],
        tables=tuple(table for table in tables if any(line.value is not None for line in table.lines)),
    )


def _tab(measure: CountMeasure, compared: Compared) -> ChangeTab:
    now, before = _counts(compared, measure)
    signed = signed_number(now - before)
    return ChangeTab(measure=measure, title=_(MEASURES[measure]), now=now, before=before, signed=signed)


def _counts(compared: Compared, measure: CountMeasure) -> tuple[int, int]:
    before = 0 if compared.before is None else int(getattr(compared.before, measure))
    return int(getattr(compared.whole, measure)), before


def _table(
    dimension: Dimension, parts: list[PartCount], total: ChangeTab, chosen: Range, filters: Mapping[str, str]
) -> ChangeTable:
    """The parts, largest first, and the rest."""
    rest_now = total.now - sum(part.now for part in parts)
    rest_before = total.before - sum(part.before for part in parts)
    top = max([abs(part.change) for part in parts] + [abs(rest_now - rest_before), 1])
    lines = []
    for part in parts:
        href, before = _links(part, total.measure, chosen, filters)
        bar = change_bar(part.change / top)
        lines.append(
            Contribution(
                value=part.value, now=part.now, before=part.before, bar=bar, href=href, href_before=before
            )
        )
    if rest_now or rest_before:
        bar = change_bar((rest_now - rest_before) / top)
        lines.append(Contribution(value=None, now=rest_now, before=rest_before, bar=bar))
    return ChangeTable(dimension=dimension, title=_(TITLES[dimension]), lines=tuple(lines))


def _links(
    part: PartCount, measure: CountMeasure, chosen: Range, filters: Mapping[str, str]
) -> tuple[str | None, str | None]:
    """The lists of a part's decisions now and before; a rule that ends with * would match others too."""
    if part.dimension not in LISTED or part.value.endswith("*"):
        return None, None
    since, until = chosen.since, whole_until(chosen)
    wanted = dict(filters) | FILTERS[measure] | {part.dimension.value: part.value}
    return (
        decisions_link(since, until, **wanted) if part.now else None,
        decisions_link(since - chosen.back, until - chosen.back, **wanted) if part.before else None,
    )


def whole_until(chosen: Range) -> datetime:
    """The end of the last whole hour of a range."""
    return chosen.until - (chosen.until - chosen.since) % timedelta(hours=1)


def change_bar(by: float) -> Markup:
    """A change of -1..1 as a bar from the middle, to the right for an increase."""
    width = 50 * abs(by)
    return decoration(
        tag("line", x1="50%", x2="50%", y1="0", y2="100%", class_="rule"),
        tag(
            "rect",
            x=share(50 if by > 0 else 50 - width),
            width=share(width),
            y="20%",
            height="60%",
            class_="more" if by > 0 else "fewer",
        ),
        class_="change-bar",
    )
