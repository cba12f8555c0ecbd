"""Parses the access log's filters from a URL's query."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from db.access_log import LogFilter, LoggedAction, LogLine
from review.access import Right
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.typed.moments import moment

WINDOW: Final = timedelta(days=7)
TEXT_CHARS: Final = 200
FIELDS: Final = ("person", "action", "account", "decision", "since", "until")


class BadLogFilter(Refused):
    """An unusable field; the page shows its form again."""


def parse_log_filters(visit: Visit) -> LogFilter:
    """The query's filters, limited to the accounts where the person is an auditor."""
    query = visit.request.query_params
    until = _moment(visit, "until") or visit.now
    action = query.get("action", "")
    if action and action not in set(LoggedAction):
        raise _bad("action", _("one of %(names)s") % {"names": ", ".join(LoggedAction)}, action)
    return LogFilter(
        accounts=visit.accounts(Right.AUDIT),
        since=_moment(visit, "since") or until - WINDOW,
        until=until,
        person=_text(query, "person").lower(),
        action=action,
        user_id=_text(query, "account"),
        decision_id=_decision(query.get("decision", "")),
        before=_cursor(query.get("cursor", "")),
    )


def next_cursor(line: LogLine) -> str:
    """The cursor of the page after this line."""
    return f"{line.at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}~{line.number}"


def _text(query: Mapping[str, str], name: str) -> str:
    value = query.get(name, "").strip()
    if len(value) > TEXT_CHARS:
        raise _bad(name, _("at most %(most)s characters") % {"most": TEXT_CHARS}, f"{len(value)}")
    return value


def _moment(visit: Visit, name: str) -> datetime | None:
    value = visit.request.query_params.get(name, "").strip()
    try:
        return moment(value, visit.now) if value else None
    except ValueError:
        raise _bad(name, _("a time such as 2026-11-21T10:00"), value) from None


def _decision(value: str) -> UUID | None:
    try:
        return UUID(value.strip()) if value.strip() else None
    except ValueError:
        raise _bad("decision", _("the id of a decision"), value) from None


def _cursor(value: str) -> tuple[datetime, int] | None:
    if not value:
        return None
    at, _tilde, number = value.partition("~")
    try:
        time, found = datetime.fromisoformat(at), int(number[:20])
    except ValueError:
        raise _bad("cursor", _("one from an earlier page"), value) from None
    if time.tzinfo is None or not 0 <= found < 2**63:
        raise _bad("cursor", _("one from an earlier page"), value)
    return time, found


def _bad(name: str, expected: str, got: str) -> BadLogFilter:
    text = _("%(field)s: expected %(expected)s, got “%(got)s”.")
    return BadLogFilter(400, "Filter", text % {"field": name, "expected": expected, "got": got[:60]})
