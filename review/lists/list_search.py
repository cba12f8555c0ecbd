"""Suggestions of the list's search: accounts, authors, rules and reasons that fit the typed text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from starlette.responses import Response

from db.access_log import LoggedAction
from db.account_settings import account_versions
from db.audit import search
from db.audit.decision_list import BRIEF
from db.audit.filters import Filters
from db.audit.search import SearchRow
from review.http.visit import Visit
from review.languages import mark
from review.lists.visit_query import parse_url_query
from review.words import decisions
from review.words.reasons import NAMES

RECENT: Final = 500
"""Newest decisions whose authors and rules are suggested."""
SHOWN: Final = 4
"""Suggestions of one kind."""
LEAST_CHARS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterSuggestion:
    """A filter to choose.

    Attributes:
        kind: in words.
        text: as shown; ``value`` as the filter takes it.
        query: the list's filters with this one.
    """

    kind: str
    text: str
    value: str
    query: str


KINDS: Final = {
    "account": mark("Account"),
    "author": mark("Author"),
    "rule": mark("Rule"),
    "reason": mark("Reason"),
}
"""The title of each filter that is suggested, in the order of the page."""


async def suggest_filters(visit: Visit) -> Response:
    """A part of the list's page; without htmx, the list with the text as its search."""
    query = parse_url_query(visit, other_parameters=())
    if not visit.partial:
        return visit.redirect("decisions", query.encoded())
    typed = query.values.get("text", "").strip().casefold()
    found: list[FilterSuggestion] = []
    if len(typed) >= LEAST_CHARS:
        for kind, values in (await _values(visit, typed)).items():
            for value in values:
                text = decisions.reason_label(value) if kind == "reason" else value
                changed = query.encoded(text=None, **{kind: value})
                found.append(FilterSuggestion(kind=KINDS[kind], text=text, value=value, query=changed))
    return visit.render("list_search.html", found=found, typed=typed)


async def _values(visit: Visit, typed: str) -> dict[str, Sequence[str]]:
    """The values that fit, by filter, only of accounts that the person may see."""
    accounts = await account_versions.list_accounts(
        visit.store.pool, visit.accounts(), search=typed, after="", limit=SHOWN
    )
    recent = await visit.store.read_lists(
        lambda connection: search.find_decisions(
            connection, Filters(accounts=visit.accounts()), None, limit=RECENT, patience=BRIEF
        )
    )
    if visit.note_reading(visit.request.url.path):
        await visit.log(LoggedAction.LIST, detail={"suggestions": True, "rows": len(recent.rows)})
    return {
        "account": [each.user_id for each in accounts],
        "author": _fitting(_column(recent.rows, "author_id"), typed),
        "rule": _fitting(_column(recent.rows, "matched_rule"), typed),
        "reason": [name for name in NAMES if typed in _reason_text(name)][:SHOWN],
    }


def _column(rows: Iterable[SearchRow], name: str) -> Iterator[str]:
    return (row[name] for row in rows if row[name])


def _fitting(values: Iterable[str], typed: str) -> list[str]:
    """The most recent values that have the text, each once; those that begin with it first."""
    found = [value for value in dict.fromkeys(values) if typed in value.casefold()]
    return sorted(found, key=lambda value: not value.casefold().startswith(typed))[:SHOWN]


def _reason_text(name: str) -> str:
    return f"{name} {decisions.reason_label(name)}".casefold()
