"""What a URL brings: the filters of lists and the cursors of pages."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import Final
from urllib.parse import parse_qsl

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from starlette.datastructures import QueryParams

from db.audit import cursor
from db.audit.cursor import CursorRejected, parse_cursor
from db.audit.search import matching_query
from fuzz.target import Target, as_text, require, require_storable
from review.access_log import filters as access_log
from review.api import answers
from review.http import parameters
from review.http.parameters import UnusableParameter, read_query
from review.lists.export_file import Written
from review.lists.filter_parsers import ParseContext
from review.lists.filters import FIELDS_BY_NAME, ListQuery, parse_query, parse_stored_query
from review.typed.kinds import LOG_CURSOR, MOMENT, TIME_OR_DAY, WAITING_CURSOR
from review.typed.moments import moment

CONTEXT: Final = ParseContext(now=datetime(2026, 11, 21, 10, tzinfo=UTC), login="kim")
SECOND: Final = datetime(2026, 11, 21, 10, 0, 1, tzinfo=UTC)


def check_filters(data: bytes) -> None:
    """A query is filters with their problems; the valid ones written as a URL mean the same again."""
    pairs = QueryParams(as_text(data)).multi_items()
    found = parse_query(pairs, CONTEXT, None)
    require_storable([*found.values.values(), *map(str, found.problems)])
    again = _again(found)
    require(not again.problems, "a valid value is none when written again", found, again.problems)
    require(again.values == found.values, "other values when written again", found, again)
    if not found.problems:
        require(again.filters == found.filters, "other filters when written again", found, again)
        parse_stored_query(found.encoded(), CONTEXT, None)
        _statement(found)


def _again(found: ListQuery) -> ListQuery:
    return parse_query(parse_qsl(found.encoded(), strict_parsing=bool(found.values)), CONTEXT, None)


def _statement(found: ListQuery) -> None:
    """The statement of the filters can be built."""
    query: sa.Select[object] = matching_query(found.filters)
    query.compile(dialect=DIALECT)


def check_cursor(data: bytes) -> None:
    """A cursor is a position or rejected; a position written again is the same one."""
    text = as_text(data)
    body = data[: cursor.LENGTH - cursor.CHECK_BYTES]
    for each in (text, base64.urlsafe_b64encode(body + cursor._checksum(body)).decode()):
        try:
            position = parse_cursor(each)
        except CursorRejected as error:
            str(error)
        else:
            require(parse_cursor(str(position)) == position, "another position when written again", each)
    _check_others(text)


def _check_others(text: str) -> None:
    for kind, read in (
        (WAITING_CURSOR, answers._parse_cursor),
        (LOG_CURSOR, access_log._cursor),
        (TIME_OR_DAY, datetime.fromisoformat),
        (MOMENT, lambda given: moment(given, SECOND)),
    ):
        try:
            found = read_query(QueryParams([("cursor", text)]), [parameters.cursor(kind)])
        except UnusableParameter as unusable:
            str(unusable)
        else:
            read(found["cursor"])  # what fits its description can be read
    try:
        written = Written.read(text)
    except ValueError:
        return
    require(Written.read(str(written)) == written, "another position of an export", text)


DIALECT: Final[sa.Dialect] = postgresql.dialect()  # type: ignore[no-untyped-call]
POSITION: Final = cursor.Position(direction=cursor.Direction.OLDER, at=SECOND)
TARGETS: Final = (
    Target(
        name="filters",
        about="A query is filters with their problems, and the valid ones mean the same when written again.",
        check=check_filters,
        words=(
            *(f"{name}=" for name in FIELDS_BY_NAME), "&", "%00", "%FF", "%ED%A0%80", "+", ";", "all",
            "24h", "999999w",
            "2026-11-21T10:00Z", "0001-01-01T00:00%2B14:00", "9999-12-31T23:59:59-14:00", "2026-W01",
            "yes", "nan",
            "1e-400", "0,5", "inf", "blocked", "LLM_ERROR", "moderation:failed", "*:failed", "me",
            "ignore", "\u0660",
        ),
        seeds=(
            b"since=24h&decision=ignore&reason=blocked,LLM_ERROR&confidence_from=0,5&account=shop&version=3",
            b"since=all&until=2026-11-21T10:00Z&stage=moderation:failed&rule=flagged_keyword:*&text=a+b&review=open",
        ),
    ),
    Target(
        name="cursors",
        about="A cursor is a position or rejected, and a position written again is the same one.",
        check=check_cursor,
        words=(
            "~", ":", " ", "=", "-", "_", "2026-11-21T10:00:00+00:00", "0001-01-01T00:00:00+14:00", "1:2:3:",
            "\u0663",
        ),
        seeds=(
            str(POSITION).encode(),
            base64.urlsafe_b64decode(str(POSITION)),
            b"2026-11-21T10:00:00+00:00~7",
            b"2026-11-21T10:00:00+00:00 019ab000-0000-7000-8000-000000000000",
            b"019ab000-0000-7000-8000-000000000000",
            b"1:2:3:abc",
        ),
        most_bytes=256,
    ),
)  # fmt: skip
