"""Error rates of one account, or of all that a person leads: page and file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from urllib.parse import urlencode

from starlette.responses import Response

from db.access_log import LoggedAction
from db.customer_feedback.reading import FeedbackFilter
from db.figures.reach import FigureFilter
from db.reviews.queues import parse_sample
from review.access import Right
from review.accounts.stored_versions import account_of_path
from review.charts.scales import interval
from review.figures import ranges
from review.figures.ranges import Range
from review.figures.reused import Counted
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.languages import mark
from review.lists.export_layout import csv_text
from review.queues.queue_pages import DRAWN, STRATA
from trials.pages.error_report import (
    FILE_COLUMNS,
    ErrorReport,
    accuracy_rows,
    load_error_report,
)
from trials.pages.request_values import hidden_of
from trials.store.error_rates import (
    ErrorDimension,
    ErrorSelection,
    WrongKind,
)

KINDS: Final = {
    WrongKind.WRONG_BLOCK: mark("Wrong blocks"),
    WrongKind.WRONG_REPLY: mark("Wrong replies"),
}
DIMENSIONS: Final = {
    ErrorDimension.WEEK: mark("By week"),
    ErrorDimension.REASON: mark("By reason"),
    ErrorDimension.RULE: mark("By rule"),
    ErrorDimension.POLICY: mark("By policy"),
    ErrorDimension.LANGUAGE: mark("By language"),
    ErrorDimension.CONFIDENCE: mark("By confidence"),
}
FILTERS: Final = {ErrorDimension.REASON: "reason", ErrorDimension.RULE: "rule"}
"""The dimensions whose values are filters of the list of decisions."""


async def load_report(visit: Visit, account: str | None, chosen: Range) -> Counted[ErrorReport]:
    """The report of one account, or of all that the person leads, and a line of the access log."""
    accounts, hidden = visit.accounts(Right.LEAD), await hidden_of(visit)
    selected = ErrorSelection(
        accounts=accounts, account=account, since=chosen.since, until=chosen.until, now=visit.now,
        hidden=hidden,
    )  # fmt: skip
    filters = FigureFilter(
        accounts=accounts, account=account, scope=None, since=chosen.since, until=chosen.until,
        step=chosen.step, back=chosen.back,
    )  # fmt: skip

    async def count() -> ErrorReport:
        return await visit.store.read_lists(lambda replica: load_error_report(replica, selected, filters))

    key = ("errors", tuple(sorted(chosen.query.items())), accounts, account, hidden)
    counted = await visit.site.reused_figures.get(key, visit.now, count)
    detail = {"errors": len(counted.value.lines), "since": chosen.since.isoformat()}
    await visit.log(LoggedAction.FIGURES, user_id=account, detail=detail)
    return counted


async def show_errors(visit: Visit) -> Response:
    """The page of the account in the path, or of all that the person leads."""
    account, (chosen, problem) = _account(visit), _range(visit)
    counted = await load_report(visit, account, chosen)
    report = counted.value
    file = ("learn_errors_csv", {"account": account}) if account else ("errors_csv", {})
    return visit.render(
        "learn/errors.html",
        status=400 if problem else 200,
        account=account,
        tab="learn",
        problem=problem,
        chosen=chosen,
        titles=ranges.TITLES,
        report=report,
        counted_at=counted.at if counted.at != visit.now else None,
        kinds=KINDS,
        dimensions=DIMENSIONS,
        designs=[(each, parse_sample(each.definition)) for each in report.designs],
        strata=STRATA,
        drawn=DRAWN,
        picture=interval,
        file=f"{visit.url(file[0], **file[1])}?{urlencode(chosen.query)}",
        link=_decisions_of(chosen, account),
        feedback_link=ranges.range_link(chosen, account=account, feedback=FeedbackFilter.WRONG),
    )


def _decisions_of(chosen: Range, account: str | None) -> Callable[[ErrorDimension, str], str | None]:
    """A function from dimension and value to the overturned decisions of a line; None without a filter."""

    def link(dimension: ErrorDimension, value: str) -> str | None:
        name = FILTERS.get(dimension)
        if name is None:
            return None
        return ranges.range_link(chosen, account=account, review="overturn", **{name: value})

    return link


async def download_errors(visit: Visit) -> Response:
    """The error rates as a file."""
    account, (chosen, problem) = _account(visit), _range(visit)
    if problem:
        raise Refused(400, _("This range cannot be used"), problem)
    report = (await load_report(visit, account, chosen)).value
    body = "\ufeff" + csv_text([FILE_COLUMNS, *(list(row.values()) for row in accuracy_rows(report))])
    headers = {"Content-Disposition": 'attachment; filename="hushgate-accuracy.csv"'}
    return Response(body, media_type="text/csv; charset=utf-8", headers=headers)


def _range(visit: Visit) -> tuple[Range, str]:
    return ranges.chosen_range(visit.request.query_params, visit.now)


def _account(visit: Visit) -> str | None:
    return account_of_path(visit) if "account" in visit.request.path_params else None
