"""The decisions of a bulk review: all of a filter, or those that a person ticked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from db.audit.filters import Filters
from review.languages import gettext as _
from review.lists.filter_parsers import ParseContext
from review.lists.filters import ListQuery, parse_stored_query

MOST_TICKED: Final = 200
"""Ticked decisions of one bulk review; a page of the list has 50."""


class BadSelection(Exception):
    """The ticked decisions cannot be read; the text says what was expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkSelection:
    """What a bulk review is asked to review.

    Attributes:
        query: the filters as a URL's query; not used when decisions were ticked.
        ticked: these decisions, of any age; empty: all that the filters find.
    """

    query: str = ""
    ticked: tuple[UUID, ...] = ()

    def filters(self, context: ParseContext, accounts: tuple[str, ...] | None) -> ListQuery:
        """The filters at a time, limited to these accounts; decisions made later do not match."""
        found = parse_stored_query("" if self.ticked else self.query, context, accounts)
        if not self.ticked:
            return found
        chosen = Filters(accounts=accounts, chosen=self.ticked, until=found.filters.until)
        return replace(found, filters=chosen)

    def as_params(self) -> dict[str, Any]:
        """The parameters of a job, as JSON."""
        ticked = {"ticked": [str(each) for each in self.ticked]} if self.ticked else {}
        return {"query": self.query} | ticked


def stored_selection(params: Mapping[str, Any]) -> BulkSelection:
    """The selection of a job."""
    return BulkSelection(query=params["query"], ticked=tuple(map(UUID, params.get("ticked", ()))))


def parse_ticked(texts: Sequence[str]) -> tuple[UUID, ...]:
    """The decisions of the form's tick boxes, each once.

    Raises:
        BadSelection: an id is none, or there are too many.
    """
    if len(texts) > MOST_TICKED:
        text = _("Tick at most %(most)s decisions, not %(got)s.")
        raise BadSelection(text % {"most": MOST_TICKED, "got": len(texts)})
    try:
        return tuple(dict.fromkeys(UUID(text) for text in texts))
    except ValueError as error:
        message = _("The ticked decisions are not from the list. Open it and tick them again.")
        raise BadSelection(message) from error


def asked_at(text: str, now: datetime, *, max_age_s: float) -> datetime | None:
    """When the count was shown; None when that is too long ago or not a time."""
    try:
        at = datetime.fromisoformat(text)
        return at if 0 <= (now - at).total_seconds() <= max_age_s else None
    except (ValueError, TypeError):
        return None
