"""Parameters of the JSON API: a declaration describes a value, reads it, and names what is wrong."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest
from starlette.datastructures import QueryParams

from review.http.parameters import ACCOUNT, LIMIT, Parameter, UnusableParameter, read_query
from review.routes import PAGES
from review.typed.kinds import MOMENT, SINCE, ShareValue, one_of
from review.typed.moments import moment

KNOWN = (
    ACCOUNT,
    LIMIT,
    Parameter(name="id", text="An id", kind=UUID),
    Parameter(name="since", text="From", kind=SINCE),
    Parameter(name="share", text="Share", kind=ShareValue),
    Parameter(name="state", text="State", kind=one_of("open", "CLOSED"), default="open"),
    Parameter(name="reason", text="Reasons", kind=one_of("A", "B"), several=True),
)
ID = "01a20047-0dfa-71d7-8e88-c1d4329d1fb5"
NOW = datetime(2026, 11, 27, tzinfo=UTC)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", {"limit": 50, "state": "open"}),
        (f"limit=500&id={ID}", {"limit": 500, "id": UUID(ID)}),
        ("account=&state=closed", {"account": "", "state": "CLOSED"}),
        ("since=all", {"since": "all"}),
        ("since=2024-02-29T10:00Z", {"since": "2024-02-29T10:00Z"}),
        ("share=0.5", {"share": 0.5}),
        ("reason=a,B&reason=&reason=A", {"reason": ("A", "B", "A")}),
    ],
)
def test_a_value_is_read_as_its_type(query: str, found: dict[str, object]) -> None:
    """A missing parameter has its default, else None."""
    read = read_query(QueryParams(query), KNOWN)

    assert {name: read[name] for name in found} == found
    assert read.keys() == {each.name for each in KNOWN}


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("limit=0", 'limit: expected a whole number from 1 to 500, got "0"'),
        ("limit=", 'limit: expected a whole number from 1 to 500, got ""'),
        ("limit=1&limit=2", "limit: expected one value, got 2"),
        ("id=7", f'id: expected an id such as {ID}, got "7"'),
        ("state=shut", 'state: expected one of open, CLOSED, got "shut"'),
        ("share=1,5", 'share: expected a number from 0 to 1, got "1,5"'),
        (
            "since=2026-02-29",
            'since: expected a time such as 2026-11-21T10:00, an age such as 36h, or all, got "2026-02-29"',
        ),
        ("account=a%00", 'account: expected text without U+0000, at most 998 characters, got "a\\u0000"'),
        ("limits=1", "limits: expected one of account, id, limit, reason, share, since, state, got this"),
    ],
)
def test_a_wrong_value_is_named_with_the_expectation(query: str, problem: str) -> None:
    """As are unknown and repeated parameters."""
    with pytest.raises(UnusableParameter) as raised:
        read_query(QueryParams(query), KNOWN)

    assert str(raised.value).startswith(problem)


@pytest.mark.parametrize(
    "text", ["1971-01-01", "2999-12-31T23:59:59.999999-14:59", "999999s", "9999d", "999w"]
)
def test_every_time_that_fits_its_description_can_be_read(text: str) -> None:
    """The bounds of the pattern are no times that the parser of pages refuses."""
    known = [Parameter(name="until", text="", kind=MOMENT)]
    read = read_query(QueryParams({"until": text}), known)

    assert moment(read["until"], NOW).tzinfo is UTC


def test_each_parameter_is_described_with_its_limits() -> None:
    """A type alone says nothing of what is accepted."""
    bounded = {"enum", "const", "format", "pattern", "minimum", "items"}

    assert [
        (page.name, each.name) for page in PAGES for each in page.query if not bounded & each.schema.keys()
    ] == []
