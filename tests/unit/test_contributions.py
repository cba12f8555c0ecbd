"""The parts of a change, shares with their goals, and plots as files."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from db.figures.dashboard import DashboardFigures
from db.figures.goals import FigureGoal, GoalMeasure
from db.figures.notes import Happening
from db.figures.parts import CountMeasure, Dimension, PartCount
from review.dashboard.contributions import change_view, largest_change
from review.dashboard.dashboard_view import compare_figures
from review.dashboard.drawings import DashboardPlots
from review.dashboard.events import number_events, place_events
from review.dashboard.rates import Rate, StepCount, draw_rates, rate_counts
from review.figures.ranges import parse_range
from review.figures.summary import SUMS

NOW = datetime(2026, 11, 22, 14, 25, tzinfo=UTC)
HOUR = timedelta(hours=1)
WEEK = parse_range({"range": "7d"}, NOW)
COUNTS = st.integers(min_value=0, max_value=10**6)
PARTS = st.lists(
    st.tuples(st.sampled_from(list(Dimension)), COUNTS, COUNTS), max_size=30, unique_by=lambda each: each
)


def counted(events: int, *, step: datetime = NOW, reason: str = "REPLIED", **more: Any) -> dict[str, Any]:
    """A row of counts."""
    sums = dict.fromkeys((*SUMS, "assessed", "confidence_sum"), 0)
    decision = "respond" if reason == "REPLIED" else "ignore"
    return sums | {
        "step": step,
        "open": False,
        "decision": decision,
        "reason_code": reason,
        "events": events,
    } | more  # fmt: skip


def found(now: Sequence[dict[str, Any]], before: Sequence[dict[str, Any]] = ()) -> DashboardFigures:
    """Figures of a range and of the one before."""
    return DashboardFigures(counts=tuple(now), before=tuple(before), missing=0, missing_before=0)


@given(PARTS, COUNTS, st.integers(min_value=1, max_value=10**6))
def test_the_parts_of_a_change_add_up_to_it(
    parts: list[tuple[Dimension, int, int]], now: int, before: int
) -> None:
    """In every dimension, with the line for all others, exactly."""
    given_parts = [
        PartCount(dimension=dimension, value=f"v{number}", now=a, before=b)
        for number, (dimension, a, b) in enumerate(parts)
    ]
    compared = compare_figures(found([counted(now)], [counted(before)]))
    view = change_view(given_parts, compared, CountMeasure.DECISIONS, WEEK, {})

    for table in view.tables:
        assert sum(line.change for line in table.lines) == now - before
        assert sum(line.now for line in table.lines) == now
        assert sum(line.before for line in table.lines) == before


def test_a_part_links_to_its_decisions_where_a_filter_selects_exactly_these() -> None:
    """Not for models and languages, and not for rules that end with a wildcard."""
    parts = [
        PartCount(dimension=dimension, value=value, now=2, before=0)
        for dimension, value in (
            (Dimension.RULE, "flagged_keyword:spam"),
            (Dimension.RULE, "flagged_keyword:spa*"),
            (Dimension.MODEL, "gpt"),
        )
    ]
    compared = compare_figures(found([counted(9)], [counted(1)]))
    view = change_view(parts, compared, CountMeasure.BLOCKED, WEEK, {"account": "acme"})
    links = {line.value: (line.href, line.href_before) for table in view.tables for line in table.lines}

    assert links["flagged_keyword:spam"] == (
        "/decisions?since=2026-11-15T18%3A00%3A00Z&until=2026-11-22T14%3A00%3A00Z"
        "&account=acme&reason=blocked&rule=flagged_keyword%3Aspam",
        None,
    )
    assert links["flagged_keyword:spa*"] == links["gpt"] == (None, None)


def test_the_change_furthest_beyond_chance_is_shown_first() -> None:
    """Forty blocks after none say more than forty decisions in a thousand."""
    now = [counted(1000), counted(40, reason="FLAGGED_RULE")]

    assert largest_change(compare_figures(found(now, [counted(1000)]))) is CountMeasure.BLOCKED


def rate_of(measure: GoalMeasure, goal: float | None, *shares: tuple[int, int]) -> Rate:
    """The share of a range of these hits and totals by step."""
    steps = {WEEK.steps[at]: StepCount(hits=a, total=b) for at, (a, b) in enumerate(shares)}
    goals = {} if goal is None else {measure: FigureGoal(user_id="", measure=measure, share=goal)}
    counts: dict[GoalMeasure, dict[datetime, StepCount]] = {each: {} for each in GoalMeasure} | {
        measure: steps
    }
    drawn = draw_rates(DashboardPlots(found([]), WEEK, {}), counts, goals)
    return next(each for each in drawn if each.measure is measure)


@pytest.mark.parametrize(
    ("measure", "goal", "shares", "text", "missed"),
    [
        (GoalMeasure.BLOCKED, None, [(1, 10)], "", False),
        (GoalMeasure.BLOCKED, 0.05, [], "", False),
        (GoalMeasure.BLOCKED, 0.1, [(1, 10), (0, 0)], "The goal of 10 % is kept in every period", False),
        (GoalMeasure.BLOCKED, 0.05, [(1, 10), (0, 10), (2, 10)], "Above the goal of 5.0 % in 2 of 3", True),
        (
            GoalMeasure.ANSWERED_IN_TIME,
            0.9,
            [(1, 10), (10, 10)],
            "Below the goal of 90 % in 1 of 2 periods.",
            True,
        ),
    ],
)
def test_a_goal_is_compared_in_words(
    measure: GoalMeasure, goal: float | None, shares: list[tuple[int, int]], text: str, missed: bool
) -> None:
    """Steps without figures are no misses; a share equal to the goal keeps it."""
    rate = rate_of(measure, goal, *shares)

    assert rate.goal_text.startswith(text)
    assert bool(rate.goal_text) == bool(text)
    assert rate.missed is missed
    assert ("goal" in rate.drawn.plot.area) == (goal is not None)


def test_shares_are_counted_from_the_same_rows_as_the_totals() -> None:
    """Blocked, failed and escalated of all decisions of a step."""
    rows = [
        counted(6),
        counted(3, reason="FLAGGED_RULE"),
        counted(2, reason="LLM_ERROR"),
        counted(1, reason="MODEL_ESCALATED", decision="escalate"),
    ]
    counts = rate_counts(rows, [{"step": NOW, "hits": 1, "total": 4}], [])

    assert {measure: steps.get(NOW) for measure, steps in counts.items()} == {
        GoalMeasure.BLOCKED: StepCount(hits=3, total=12),
        GoalMeasure.FAILED: StepCount(hits=2, total=12),
        GoalMeasure.ESCALATED: StepCount(hits=1, total=12),
        GoalMeasure.OVERTURNED: StepCount(hits=1, total=4),
        GoalMeasure.ANSWERED_IN_TIME: None,
    }


def test_events_of_one_step_are_one_mark() -> None:
    """Numbered by time, outside of the range not drawn."""
    at = WEEK.steps
    events = number_events(
        [
            Happening(at=at[2] + HOUR, user_id="", text="later"),
            Happening(at=at[2], user_id="acme", version=4),
            Happening(at=at[0] - HOUR, user_id="", text="too early"),
        ]
    )

    assert place_events(events, at, WEEK.step) == (
        (2, "2\N{EN DASH}3", "2: Version 4 of the settings of acme; 3: later"),
    )
