"""Filters of the audit as a URL carries them: reading a query, its problems, and writing a query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from db.audit.filters import Filters
from review.languages import gettext as _
from review.languages import mark
from review.lists.filter_fields import FIELDS
from review.lists.filter_parsers import BadValue, FilterField, ParseContext
from review.words import reasons as reason_labels

LONGEST: Final = 500
"""Characters of one filter: as much of a message as is stored."""
LONGEST_LIST: Final = 1000
"""Characters of a list; all reason codes together have 520."""
SHOWN: Final = 60
"""Characters of a wrong value that a message repeats."""
FIELDS_BY_NAME: Final = {field.name: field for field in FIELDS}
UNKNOWN: Final = mark("Unknown filter")
FURTHER: Final = "further"
"""The target of the filters of optional features."""
DEFAULT_AGE: Final = timedelta(hours=24)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterProblem:
    """A filter that cannot be used."""

    field: str
    title: str
    expected: str
    got: str

    def __str__(self) -> str:
        text = _("%(title)s: Write %(expected)s, not %(got)s.")
        return text % {"title": _(self.title), "expected": self.expected, "got": self.got}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery:
    """The filters of a URL.

    Attributes:
        filters: only to be used without problems.
        values: the valid values by name, as written, in the order of ``FIELDS``.
        problems: of the other values.
    """

    filters: Filters
    values: Mapping[str, str]
    problems: tuple[FilterProblem, ...] = ()

    @property
    def wrong(self) -> frozenset[str]:
        """Names of the fields with a problem."""
        return frozenset(each.field for each in self.problems)

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reason codes and groups of the query."""
        return reason_labels.parse_names(self.values["reason"]) if "reason" in self.values else ()

    def encoded(self, **changes: str | None) -> str:
        """The valid values as a URL's query with these changes, in fixed order; None removes a value."""
        values = {**self.values, **changes}
        names = dict.fromkeys((*FIELDS_BY_NAME, *values))
        return urlencode([(name, value) for name in names if (value := values.get(name))])


def parse_query(
    pairs: Iterable[tuple[str, str]], context: ParseContext, accounts: tuple[str, ...] | None
) -> ListQuery:
    """The filters in a URL's query; without ``since``, of the last 24 hours.

    Args:
        pairs: names and values of the query; an empty value means any.
        context: the login of the person, and the time.
        accounts: the accounts that the person may see; None: every account.
    """
    given, problems = _single([(name, value.strip()) for name, value in pairs])
    parsed: dict[str, Any] = {"since": context.now - DEFAULT_AGE}
    values: dict[str, str] = {}
    for field in FIELDS:
        if not (text := given.get(field.name, "")):
            continue
        try:
            value = _checked(text, field, context)
            parsed[field.target] = (*parsed.get(FURTHER, ()), value) if field.target == FURTHER else value
            values[field.name] = text
        except BadValue as bad:
            problems.append(_problem(field, str(bad), bad.got or text))
    problems += _contradictions(parsed, values)
    return ListQuery(filters=Filters(**parsed, accounts=accounts), values=values, problems=tuple(problems))


def parse_stored_query(query: str, context: ParseContext, accounts: tuple[str, ...] | None) -> ListQuery:
    """The filters that a job stored at ``context.now``; decisions made later do not match."""
    found = parse_query(parse_qsl(query), context, accounts)
    until = min(found.filters.until or context.now, context.now)
    return replace(found, filters=replace(found.filters, until=until))


def _single(pairs: list[tuple[str, str]]) -> tuple[dict[str, str], list[FilterProblem]]:
    given: dict[str, str] = {}
    problems = []
    for name, value in pairs:
        if name not in FIELDS_BY_NAME:
            expected = _("one of %(known)s") % {"known": ", ".join(FIELDS_BY_NAME)}
            problems.append(
                FilterProblem(field=name[:SHOWN], title=UNKNOWN, expected=expected, got=_short(name))
            )
        elif FIELDS_BY_NAME[name].several:
            given[name] = ",".join(filter(None, (given.get(name), value)))
        elif name in given and given[name] != value:
            problems.append(_problem(FIELDS_BY_NAME[name], _("one value"), f"{given[name]}, {value}"))
        else:
            given[name] = value
    return given, problems


def _checked(text: str, field: FilterField, context: ParseContext) -> Any:
    longest = LONGEST_LIST if field.several else LONGEST
    if len(text) > longest:
        raise BadValue(_("at most %(most)s characters") % {"most": longest})
    if "\0" in text:
        raise BadValue(_("text without a NUL character"))
    return field.parse(text, context)


def _contradictions(parsed: Mapping[str, Any], values: dict[str, str]) -> list[FilterProblem]:
    """Values that do not fit together; the wrong one of each pair is removed."""
    found: list[FilterProblem] = []

    def reject(name: str, expected: str) -> None:
        found.append(_problem(FIELDS_BY_NAME[name], expected, values.pop(name)))

    if "version" in values and "account" not in values:
        reject("version", _("the filter account as well, as each account numbers its own versions"))
    since, until = parsed.get("since"), parsed.get("until")
    if "until" in values and since is not None and until is not None and until <= since:
        reject("until", _("a time after %(since)s UTC") % {"since": f"{since:%Y-%m-%d %H:%M}"})
    least, most = parsed.get("least_confidence"), parsed.get("most_confidence")
    if least is not None and most is not None and most < least:
        reject("confidence_to", _("at least %(least)s, where the range begins") % {"least": f"{least:g}"})
    return found


def _problem(field: FilterField, expected: str, got: str) -> FilterProblem:
    return FilterProblem(field=field.name, title=field.title, expected=expected, got=_short(got))


def _short(text: str) -> str:
    cut = "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text[:SHOWN])
    return cut if len(text) <= SHOWN else f"{cut}… ({len(text):,} characters)"
