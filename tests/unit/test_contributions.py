"""The parts of a change, shares with their goals, and plots as files."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from db.figures.dashboard import DashboardFigures
from db.figures.goals import FigureGoal, GoalMeasure
from db.figures.notes import Happening
from db.figures.parts import CountMeasure, Dimension, PartCount
from review.charts.svg_file import plot_file
from review.dashboard.contributions import change_view, largest_change
from review.dashboard.dashboard_view import compare_figures
from review.dashboard.drawings import DashboardPlots
from review.dashboard.events import number_events, place_events
from review.dashboard.rates import Rate, StepCount, draw_rates, rate_counts
from review.figures.ranges import parse_range
from review.figures.summary import SUMS

NOW = datetime(2026, 11, 22, 14, 25, tzinfo=UTC)
HOUR = timedelta(hours=1)
HOSTILE = "<script>alert(1)</script>\"'&amp;]]>"
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


def test_a_plot_of_one_bar_is_a_sentence() -> None:
    """So is one without any; a second step makes it a plot."""
    first, second = WEEK.steps[0], WEEK.steps[5]
    one = DashboardPlots(
        found([counted(3, step=first), counted(2, step=first, reason="AI_DISABLED")]), WEEK, {}
    )
    two = DashboardPlots(found([counted(3, step=first), counted(2, step=second)]), WEEK, {})

    assert one.decisions().sentence == (
        "15 Nov 18:00\N{EN DASH}00:00: Replied 3, No reply 2. Nothing else was counted."
    )
    assert DashboardPlots(found([]), WEEK, {}).decisions().sentence == "Nothing was counted in this range."
    assert two.decisions().sentence == ""


def test_a_share_of_one_step_is_a_sentence_with_its_basis() -> None:
    """In the plural form of the basis."""
    one = rate_of(GoalMeasure.BLOCKED, None, (0, 1)).drawn.sentence
    three = rate_of(GoalMeasure.OVERTURNED, None, (1, 4)).drawn.sentence

    assert one.endswith(": 0.0 % (0 of 1 decision). Nothing else was counted.")
    assert three.endswith(": 25 % (1 of 4 reviewed decisions). Nothing else was counted.")


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


def test_a_plot_as_a_file_needs_no_style_sheet() -> None:
    """Well-formed, without classes, with hostile text as text."""
    event = number_events([Happening(at=WEEK.steps[3], user_id="", text=HOSTILE)])
    rows = [counted(number + 1, step=step) for number, step in enumerate(WEEK.steps)]
    plots = DashboardPlots(found(rows), WEEK, {}, event)
    goals = {GoalMeasure.BLOCKED: FigureGoal(user_id="", measure=GoalMeasure.BLOCKED, share=0.1)}
    rates = draw_rates(plots, rate_counts(rows, [], []), goals)

    for drawn in (plots.decisions(), *(rate.drawn for rate in rates)):
        markup = str(plot_file(drawn.plot))
        tree = ET.fromstring(markup)
        assert [each for each in tree.iter() if "class" in each.attrib or "style" in each.attrib] == []
        assert "<script" not in markup
        assert drawn.plot.data.title in "".join(tree.itertext())
    assert HOSTILE in "".join(ET.fromstring(str(plot_file(plots.decisions().plot))).itertext())
