"""Plots: well-formed, legible without colour, and user text is never markup."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from review.charts.plots import PlotData, Series, lines, share_lines, stacked
from review.charts.scales import compact, duration, interval, log_ticks, ticks, time_marks
from review.charts.svg import PATTERNS
from worker.statistics.shares import wilson

TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=40)


def plot_data(*series: Series, names: tuple[str, ...] = ("a", "b", "c")) -> PlotData:
    """Three steps, the last of them not over."""
    return PlotData(
        key="test",
        title="Decisions",
        text="What was decided",
        steps=names,
        marks=((0, names[0]), (2, names[2])),
        series=series,
        open=True,
    )


def tree(markup: Markup) -> ET.Element:
    """The picture as an XML parser sees it."""
    return ET.fromstring(str(markup))


@given(name=TEXTS, step=TEXTS)
def test_any_name_is_text_and_nothing_else(name: str, step: str) -> None:
    """What a parser reads back is what was put in; no element comes from a name."""
    plot = stacked(plot_data(Series(name=name, values=(1, 2, 3)), names=(step, step, step)))
    area = tree(plot.area)
    tooltips = [each.text for each in area.iter("title")][1:]

    assert tooltips == [f"{step}: {name} {number}" for number in (1, 2, 3)]
    assert {each.tag for each in area.iter()} <= {
        "svg", "title", "desc", "defs", "pattern", "rect", "path", "line", "text",
    }  # fmt: skip


def test_a_plot_has_a_name_and_a_description() -> None:
    """For screen readers: role, title and text that it refers to."""
    area = tree(stacked(plot_data(Series(name="Replied", values=(1, 2, 3)))).area)
    names = (area.get("aria-labelledby") or "").split()
    found = {each.get("id"): each.text for each in area.iter() if each.get("id") in names}

    assert area.get("role") == "img"
    assert list(found.values()) == ["Decisions", "What was decided"]


def test_series_differ_without_their_colours() -> None:
    """Each has a pattern of its own, a name in the legend, and its name on every bar."""
    series = tuple(Series(name=f"series {number}", values=(1, 1, 1)) for number in range(6))
    plot = stacked(plot_data(*series))
    area = tree(plot.area)
    drawn = {
        each.get("id"): tuple(path.get("d") for path in each.iter("path")) for each in area.iter("pattern")
    }
    bars = [each for each in area.iter("rect") if each.get("class", "").startswith("bar")]

    assert len(set(drawn.values())) == len(PATTERNS) == 6
    assert [name for _, name in plot.legend] == [each.name for each in series]
    assert {each.get("fill") for each in bars} == {f"url(#{name})" for name in drawn}
    assert all(each.find("title") is not None for each in bars)


def test_shares_stand_on_a_linear_axis() -> None:
    """From 0 to 1 with a mark at each quarter; a missing value is a gap."""
    plot = share_lines(plot_data(Series(name="safety", values=(0.0, None, 1.0))))

    assert "safety 0.00" in plot.area
    assert "safety 1.00" in plot.area
    assert plot.area.count("<circle") == 2
    assert all(f">{mark}<" in plot.axis for mark in ("0.00", "0.25", "0.50", "0.75", "1.00"))


def test_lines_have_gaps_where_nothing_was_measured() -> None:
    """No line leads over a step without a figure."""
    plot = lines(plot_data(Series(name="p95", values=(100.0, None, 300.0))))
    area = tree(plot.area)

    assert [each.get("class") for each in area.iter("line") if "line" in (each.get("class") or "")] == []
    assert len(list(area.iter("circle"))) == 2


@pytest.mark.parametrize("values", [(), (0, 0, 0), (None, None, None)])
def test_nothing_to_show_is_an_empty_plot(values: tuple[float | None, ...]) -> None:
    """And no division by nought."""
    names = ("a", "b", "c")
    series = () if not values else (Series(name="x", values=values),)

    assert tree(stacked(plot_data(*series, names=names)).area).tag == "svg"
    assert tree(lines(plot_data(*series, names=names)).area).tag == "svg"


@given(hits=st.integers(0, 500), more=st.integers(0, 500))
def test_intervals_stay_in_their_picture(hits: int, more: int) -> None:
    """From 0 to 100 percent."""
    found = wilson(hits, hits + more)
    if found is None:
        return
    bar = next(each for each in tree(interval(found)).iter("rect"))
    start, width = (float((bar.get(name) or "").rstrip("%")) for name in ("x", "width"))

    assert 0 <= start <= start + width <= 100.51


@given(top=st.floats(1e-3, 1e12))
def test_marks_are_round_and_hold_the_highest_value(top: float) -> None:
    """A few of them, evenly spaced, in steps of 1, 2 or 5."""
    marks = ticks(top)
    step = marks[1]
    digits = step / 10 ** math.floor(math.log10(step) + 1e-9)

    assert marks[0] == 0
    assert marks[-1] >= top * (1 - 1e-6)
    assert 2 <= len(marks) <= 6
    assert min(abs(digits - each) for each in (1, 2, 5, 10)) < 1e-6


@pytest.mark.parametrize(("top", "marks"), [(1, (0, 1)), (2, (0, 1, 2)), (9, (0, 5, 10)), (0, (0, 1))])
def test_what_is_counted_has_no_half_marks(top: float, marks: tuple[float, ...]) -> None:
    """One failure is not drawn beside a mark at a half."""
    assert ticks(top, least=1) == marks


@given(low=st.floats(1, 1e9), factor=st.floats(1, 1e6))
def test_logarithmic_marks_hold_all_values(low: float, factor: float) -> None:
    """Also where all values are the same."""
    marks = log_ticks(low, low * factor)

    assert marks[0] <= low * (1 + 1e-6)
    assert marks[-1] >= low * factor * (1 - 1e-6)
    assert 2 <= len(marks) <= 12


@pytest.mark.parametrize(
    ("ms", "text"),
    [(1, "1 ms"), (1.5, "1.5 ms"), (180.2, "180 ms"), (999.4, "999 ms"), (999.9, "1 s"), (1400, "1.4 s"),
     (59_900, "60 s"), (90_000, "1.5 min"), (3_600_000, "1 h"), (200_000_000, "2.3 d")],
)  # fmt: skip
def test_times_are_written_as_people_say_them(ms: float, text: str) -> None:
    """Two figures are enough."""
    assert duration(ms) == text


def test_numbers_on_an_axis_are_short() -> None:
    """Thousands and millions have letters."""
    assert [compact(each) for each in (0, 5, 1500, 20_000, 3e6)] == ["0", "5", "1.5k", "20k", "3M"]


@pytest.mark.parametrize(("hours", "count"), [(1, 24), (6, 28), (24, 30), (168, 52)])
def test_few_steps_are_named(hours: int, count: int) -> None:
    """So that names never run into each other on a narrow screen."""
    first = datetime(2026, 11, 21, 13 if hours == 1 else 0, tzinfo=UTC)
    starts = [first + number * timedelta(hours=hours) for number in range(count)]

    assert 3 <= len(time_marks(starts)) <= 7


@pytest.mark.parametrize(
    ("first", "named"),
    [
        (1, ["04:00", "08:00", "12:00", "16:00", "22 Nov"]),
        (0, ["21 Nov", "08:00", "12:00", "16:00", "20:00"]),
        (2, ["04:00", "08:00", "12:00", "16:00", "20:00", "22 Nov"]),
    ],
)
def test_a_name_at_an_edge_has_room(first: int, named: list[str]) -> None:
    """It is written inwards, so that its neighbour is left out."""
    starts = [datetime(2026, 11, 21, first, tzinfo=UTC) + timedelta(hours=each) for each in range(24)]

    assert [name for _, name in time_marks(starts)] == named
