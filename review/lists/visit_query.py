"""Filters of the audit as a request carries them, limited to the accounts of the person."""

from __future__ import annotations

from collections.abc import Iterable

from review.access import Right
from review.http.visit import Visit
from review.lists.filter_parsers import ParseContext
from review.lists.filters import ListQuery, parse_query


def parse_visit_query(visit: Visit, pairs: Iterable[tuple[str, str]], right: Right = Right.VIEW) -> ListQuery:
    """The filters in names and values, limited to the accounts where the person has the right."""
    context = ParseContext(now=visit.now, login=visit.person.login)
    return parse_query(pairs, context, visit.accounts(right))


def parse_url_query(visit: Visit, *, other_parameters: Iterable[str]) -> ListQuery:
    """The filters in the URL, which has ``other_parameters`` as well."""
    pairs = visit.request.query_params.multi_items()
    return parse_visit_query(visit, [pair for pair in pairs if pair[0] not in other_parameters])
