"""Ranges of time from a URL."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review.figures.ranges import BadRange, parse_range

NOW = datetime(2026, 11, 22, 14, 25, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("name", "since", "steps"),
    [
        ("24h", datetime(2026, 11, 21, 15, tzinfo=UTC), 24),
        ("7d", datetime(2026, 11, 15, 18, tzinfo=UTC), 28),
        ("30d", datetime(2026, 10, 24, tzinfo=UTC), 30),
    ],
)
def test_named_ranges_end_with_the_step_that_is_not_over(name: str, since: datetime, steps: int) -> None:
    """They begin with a whole one, and there are as many as the name says."""
    found = parse_range({"range": name}, NOW)

    assert (found.since, found.until, len(found.steps)) == (since, NOW, steps)
    assert found.back == found.step * steps


def test_a_parse_range_ones_own_is_of_whole_hours() -> None:
    """Cut into steps that are easy to read, and never beyond the present."""
    found = parse_range({"since": "2026-11-20T10:20", "until": "2026-11-21T09:10"}, NOW)
    to_now = parse_range({"range": "custom", "since": "36h"}, NOW)

    assert (found.since.hour, found.until.hour, found.step) == (10, 10, HOUR)
    assert (to_now.until, to_now.since.minute) == (NOW, 0)


@given(age=st.integers(1, 366 * 24), length=st.integers(1, 366 * 24))
def test_steps_fill_every_range(age: int, length: int) -> None:
    """From its start to its end, none of them empty, never more than a plot can show."""
    since = NOW - age * HOUR
    until = min(NOW, since + length * HOUR)
    found = parse_range({"since": since.isoformat(), "until": until.isoformat()}, NOW)

    assert found.steps[0] == found.since <= since
    assert found.steps[-1] < found.until <= found.steps[-1] + found.step
    assert len(found.steps) <= 93
    assert found.until <= NOW
    assert found.back >= found.until - found.since


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"range": "yesterday"}, "range: expected one of 24h, 7d, 30d, custom, got 'yesterday'"),
        ({"range": "custom"}, "since: expected a time such as"),
        ({"since": "soon"}, "since: expected a time such as"),
        ({"since": "2026-11-20", "until": "2026-11-19"}, "until: expected a time after 2026-11-20 00:00 UTC"),
        ({"since": "2027-01-01", "until": "2027-01-02"}, "since: expected a time in the past"),
        ({"since": "2020-01-01"}, "since: expected at most 366 days"),
        ({"range": "x" * 10_000}, "got 'xxxx"),
        ({"since": "9" * 5_000}, "since: expected a time such as"),
    ],
)
def test_what_cannot_be_used_is_said(asked: dict[str, str], said: str) -> None:
    """Field, expectation, what came, cut to what fits a line."""
    with pytest.raises(BadRange, match=said.split(",", maxsplit=1)[0]) as caught:
        parse_range(asked, NOW)

    assert len(str(caught.value)) < 250
