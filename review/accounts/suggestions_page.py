"""What to add to an account's documents: topics of questions that they do not cover."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from starlette.responses import Response

from db.access_log import LoggedAction
from db.audit import suggestions
from db.audit.filters import Filters
from db.audit.suggestions import EXAMPLES, MOST_TOPICS, PATIENCE_S, Suggestion, Suggestions
from db.rows import Row
from review.access import Right
from review.accounts.stored_versions import account_of_path
from review.content_covers import cover_reason
from review.figures import ranges
from review.figures.ranges import Range
from review.http.visit import Visit

GROUPED: Final = 1_000
"""Newest decisions with suggestions that a page groups; the command line groups more."""
SHOWN: Final = 25
"""Topics on the page; a link shows the others."""
TOPIC_DECISIONS: Final = 200
"""Decisions listed of one topic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicView:
    """A suggestion as one person sees it.

    Attributes:
        decisions: each with the categories that cover it, empty for none.
        covered: categories that cover the topic too, because no decision shown is uncovered.
    """

    found: Suggestion
    decisions: tuple[tuple[Row, tuple[str, ...]], ...]
    covered: tuple[str, ...]


async def show_suggestions(visit: Visit) -> Response:
    """The topics of a range; with ``topic`` all decisions of that topic."""
    user_id = account_of_path(visit)
    parameters = visit.request.query_params
    chosen, problem = ranges.chosen_range(parameters, visit.now)
    key = parameters.get("topic") or None
    examples = EXAMPLES if key is None else TOPIC_DECISIONS
    shown = MOST_TOPICS if "all" in parameters else SHOWN
    found = await load_visible_suggestions(
        visit, user_id, chosen, key=key, examples=examples, illustrated=shown
    )
    return visit.render(
        "suggestions.html",
        status=400 if problem else 200,
        account=user_id,
        tab="suggestions",
        problem=problem,
        chosen=chosen,
        titles=ranges.TITLES,
        key=key,
        found=found,
        topics=[_topic_view(visit, each) for each in found.topics[:shown]],
        all_link="?" + urlencode(chosen.query | {"all": "yes"}),
        may_edit=visit.may(Right.EDIT_RULES, user_id),
        topic_link=lambda topic: "?" + urlencode(chosen.query | {"topic": topic}),
        back_link="?" + urlencode(chosen.query),
    )


def parse_suggestion_range(visit: Visit, parameters: Mapping[str, str]) -> Range:
    """The range of a URL's parameters, by default the last 30 days.

    Raises:
        BadRange: a value is not usable.
    """
    values = {name: value.strip() for name, value in parameters.items()}
    return ranges.parse_range(values, visit.now, default=ranges.MONTH)


async def load_visible_suggestions(
    visit: Visit,
    user_id: str | None,
    chosen: Range,
    *,
    key: str | None = None,
    examples: int = EXAMPLES,
    illustrated: int = MOST_TOPICS,
    most: int = GROUPED,
    patience_s: float = PATIENCE_S,
) -> Suggestions:
    """The suggestions of one account, or of all that the person may see; the reading is logged.

    Raises:
        TooSlow: they could not be read in ``patience_s``.
    """
    if user_id is not None:
        visit.require(Right.VIEW, user_id)
    filters = Filters(
        since=chosen.since, until=chosen.until, user_id=user_id, accounts=visit.accounts(Right.VIEW)
    )
    found = await visit.store.read_lists(
        lambda replica: suggestions.load_suggestions(
            replica,
            filters,
            key=key,
            examples=examples,
            illustrated=illustrated,
            most=most,
            patience_s=patience_s,
        )
    )
    detail = {"what": "suggestions", "rows": len(found.topics)}
    await visit.log(LoggedAction.LIST, user_id=user_id, detail=detail)
    return found


def _topic_view(visit: Visit, found: Suggestion) -> TopicView:
    shown = tuple((row, cover_reason(visit.person.covered, row)) for row in found.decisions)
    everything = all(cover for _, cover in shown)
    covered = tuple(sorted({each for _, cover in shown for each in cover})) if everything else ()
    return TopicView(found=found, decisions=shown, covered=covered)
