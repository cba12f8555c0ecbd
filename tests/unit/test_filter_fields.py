"""What people type in addresses and fields: ranges of time, numbers, and filters that change the query."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.dialects import postgresql
from typer.main import get_command

from cli.decisions import commands as decisions
from db.audit.filters import Filters
from db.audit.search import matching_query
from review.figures.ranges import BadRange, parse_range
from review.languages.reader import NO_READER, answer_in
from review.lists.filter_fields import FIELDS
from review.lists.filter_parsers import FilterField, ParseContext
from review.lists.filters import parse_query
from review.typed.numbers import share_text, typed_number, typed_share

NOW = datetime(2026, 11, 21, 10, tzinfo=UTC)
SET_BY_THE_SITE = {"accounts", "chosen", "hidden", "walk"}
VALUES = {"since": "7d", "until": "1h", "confidence_from": "0.5", "confidence_to": "0.5"} | {
    "shadow": "newly_stopped:01a20047-0dfa-71d7-8e88-c1d4329d1fb5",
    "reason": "blocked", "version": "3", "stage": "moderation:failed", "candidate": str(UUID(int=7)),
}  # fmt: skip


def test_every_field_of_a_search_is_a_filter() -> None:
    """A field of `Filters` is the target of one filter, or set by the site."""
    targets = [each.target for each in FIELDS]

    assert len(targets) == len(set(targets))
    assert set(targets) | SET_BY_THE_SITE == {each.name for each in fields(Filters)}


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
def test_every_filter_changes_the_query(field: FilterField) -> None:
    """A filter without a condition would show every decision."""
    value = VALUES.get(field.name) or next(iter(field.choices), "x")
    pairs = [(field.name, value)] + ([("account", "a")] if field.name in ("version", "event") else [])
    asked = parse_query(pairs, ParseContext(now=NOW), accounts=None)
    without = parse_query(pairs[1:], ParseContext(now=NOW), accounts=None)

    assert asked.problems == ()
    assert _sql(asked.filters) != _sql(without.filters)


@pytest.mark.parametrize("name", ["list", "tail", "export"])
def test_every_filter_is_an_option_with_a_help_text(name: str) -> None:
    """In the order of the table, for each command that shows decisions."""
    group: Any = get_command(decisions.app)
    options = {each.name: each for each in group.commands[name].params}

    assert [each for each in options if each in {field.name for field in FIELDS}] == [
        field.name for field in FIELDS
    ]
    assert [options[field.name].help for field in FIELDS] == [field.about for field in FIELDS]


def _sql(filters: Filters) -> tuple[str, str]:
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    compiled = matching_query(filters).compile(dialect=dialect)
    return str(compiled), str(compiled.params)


AT = datetime(2026, 11, 22, 14, 25, tzinfo=UTC)
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
    found = parse_range({"range": name}, AT)

    assert (found.since, found.until, len(found.steps)) == (since, AT, steps)
    assert found.back == found.step * steps


def test_a_parse_range_ones_own_is_of_whole_hours() -> None:
    """Cut into steps that are easy to read, and never beyond the present."""
    found = parse_range({"since": "2026-11-20T10:20", "until": "2026-11-21T09:10"}, AT)
    to_now = parse_range({"range": "custom", "since": "36h"}, AT)

    assert (found.since.hour, found.until.hour, found.step) == (10, 10, HOUR)
    assert (to_now.until, to_now.since.minute) == (AT, 0)


@given(age=st.integers(1, 366 * 24), length=st.integers(1, 366 * 24))
def test_steps_fill_every_range(age: int, length: int) -> None:
    """From its start to its end, none of them empty, never more than a plot can show."""
    since = AT - age * HOUR
    until = min(AT, since + length * HOUR)
    found = parse_range({"since": since.isoformat(), "until": until.isoformat()}, AT)

    assert found.steps[0] == found.since <= since
    assert found.steps[-1] < found.until <= found.steps[-1] + found.step
    assert len(found.steps) <= 93
    assert found.until <= AT
    assert found.back >= found.until - found.since


def test_a_range_of_at_most_a_week_may_be_compared_with_a_week_earlier() -> None:
    """A longer range is compared with the range before it."""
    day, month = (parse_range({"range": name, "against": "week"}, AT) for name in ("24h", "30d"))

    assert (day.back, day.against) == (timedelta(weeks=1), "week")
    assert (month.back >= timedelta(days=30), month.against) == (True, "before")


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
        ({"against": "year"}, "against: expected one of before, week, got 'year'"),
    ],
)
def test_what_cannot_be_used_is_said(asked: dict[str, str], said: str) -> None:
    """Field, expectation, what came, cut to what fits a line."""
    with pytest.raises(BadRange, match=said.split(",", maxsplit=1)[0]) as caught:
        parse_range(asked, AT)

    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0,7", 0.7),
        ("0,750", 0.75),
        (" 12.5 ", 12.5),
        ("86400", 86_400.0),
        ("-1", -1.0),
        (",5", 0.5),
        ("1e-3", 0.001),
        ("12.345", 12.345),
        ("1.5e3", 1500.0),
    ],
)
def test_a_point_or_a_comma_begins_the_decimals(text: str, number: float) -> None:
    """Both forms are one number."""
    assert typed_number(text) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("86,400", 86_400.0),
        ("-1,000", -1000.0),
        ("1,000,000", 1_000_000.0),
        ("1,000.5", 1000.5),
        ("1.000,5", 1000.5),
        ("1.000.000", 1_000_000.0),
        ("1 000", 1000.0),
        ("1\u202f000,25", 1000.25),
        ("1'000", 1000.0),
    ],
)
def test_a_separator_of_thousands_is_read_as_one(text: str, number: float) -> None:
    """A hold of a day does not become a minute and a half."""
    assert typed_number(text) == number


def test_a_point_separates_thousands_where_the_language_does() -> None:
    """The pages show such a reader 86400 as 86.400."""
    answer_in(replace(NO_READER, language="vi"))
    found = typed_number("86.400"), typed_number("0.750")
    answer_in(NO_READER)

    assert found == (86_400.0, 0.75)


@pytest.mark.parametrize("language", ["en", "vi"])
@pytest.mark.parametrize("text", ["12.345", "12,345", " 12.345 % "])
def test_a_percentage_has_no_thousands(language: str, text: str) -> None:
    """The text that a form shows of a share is read as the same share in every language."""
    answer_in(replace(NO_READER, language=language))
    found = typed_share(text)
    answer_in(NO_READER)

    assert (found, share_text(found)) == (0.12345, "12.345")


@pytest.mark.parametrize("text", ["1_000", "1,00,000", "1,000,00", "nan", "inf", "", "1,2,3", "٣"])
def test_what_is_no_number_is_refused(text: str) -> None:
    """The message says what was expected."""
    with pytest.raises(ValueError, match="expected a number"):
        typed_number(text)
