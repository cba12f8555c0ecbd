"""The figures, limits, suggestions and the access log as JSON, with the filters of their pages."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from starlette.responses import JSONResponse, Response

from db.access_log import LoggedAction
from db.figures.dashboard import DashboardFigures
from db.figures.histograms import SpreadKind
from review.access_log import filters
from review.access_log.page import load_lines
from review.accounts.limits_page import load_limits
from review.accounts.suggestions_page import load_visible_suggestions, parse_suggestion_range
from review.agreement import page as agreement_page
from review.agreement.kappa import Kappa
from review.agreement.tables import AgreementLine
from review.api.body import json_answer
from review.dashboard import dashboard_page
from review.dashboard.dashboard_page import DashboardOutcomes
from review.figures.ranges import BadRange
from review.figures.summary import FigureSummary, mean_confidences, summarise, time_percentiles
from review.http.visit import Refused, Visit


async def show_figures(visit: Visit) -> Response:
    """The figures of the dashboard as numbers: times in ms, shares 0..1.

    Raises:
        Refused: 422, since and until are no range.
    """
    try:
        chosen, figures = dashboard_page.parse_dashboard_query(visit, visit.request.query_params)
    except BadRange as bad:
        raise Refused(422, "Not a range", str(bad)) from bad

    async def count() -> tuple[DashboardFigures, DashboardOutcomes]:
        found = await dashboard_page.load_figures(visit, figures)
        return found, await dashboard_page.load_outcomes(visit, figures)

    key = ("figures", *sorted(chosen.query.items()), figures.since, figures.scope, *figures.users)
    counted = await visit.site.reused_figures.get(key, visit.now, count)
    found, (rejections, answers) = counted.value
    await visit.log(
        LoggedAction.FIGURES, user_id=figures.account, detail=dashboard_page.range_log_detail(chosen)
    )
    return JSONResponse(
        {
            "since": chosen.since.isoformat(),
            "until": chosen.until.isoformat(),
            "step_s": chosen.step.total_seconds(),
            "account": figures.account,
            "scope": figures.scope,
            "uncounted_hours": found.missing,
            "totals": _numbers(summarise(found.counts, found.answered)),
            "rejections": [asdict(each) for each in rejections],
            "answers": {
                "outcomes": {each.outcome: each.answers for each in answers},
                "shares": {each.outcome: each.share for each in answers if each.of_a_draft},
            },
            "times_ms": {
                kind: time_percentiles(found.spreads, kind)
                for kind in (SpreadKind.TOTAL, SpreadKind.WORK, SpreadKind.WAITING)
            },
            "steps": [
                {
                    "start": row["step"].isoformat(),
                    "decision": row["decision"],
                    "reason_code": row["reason_code"],
                    "decisions": row["events"],
                    "open": row["open"],
                }
                for row in found.counts
            ],
            "mean_confidence": [
                {"start": start.isoformat(), "policy": policy, "mean": mean}
                for (start, policy), mean in mean_confidences(found.trust).items()
            ],
            "mean_confidence_by_label": [
                {"start": start.isoformat(), "label": label, "mean": mean}
                for (start, label), mean in mean_confidences(found.labels, "label").items()
            ],
            "before": {
                "uncounted_hours": found.missing_before,
                "totals": _numbers(summarise(found.before, found.answered_before)),
                "compared_with": _numbers(
                    summarise(
                        (row for row in found.counts if not row["open"]),
                        (row for row in found.answered if not row["open"]),
                    )
                ),
            },
        }
    )


async def show_agreement(visit: Visit) -> Response:
    """Agreement as numbers: shares 0..1 with the bounds of their 95 % intervals.

    Raises:
        Refused: 422, since and until are no range.
    """
    try:
        query = agreement_page.parse_agreement_query(visit, visit.request.query_params)
    except BadRange as bad:
        raise Refused(422, "Cannot be used", str(bad)) from bad
    counted = await agreement_page.load_agreement(visit, query)
    counts, basis, tables = counted.value
    chosen, account = query.chosen, query.reviews.account
    await visit.log(LoggedAction.FIGURES, user_id=account, detail={"agreement": basis})
    return json_answer(
        {
            "since": chosen.since.isoformat(),
            "until": chosen.until.isoformat(),
            "counted_at": counted.at.isoformat(),
            "account": account,
            "basis": basis,
            "reviews_by_basis": counts,
            "rules": [_line(line) for line in tables.rules],
            "reasons": [_line(line) for line in tables.reasons],
            "reviewers": [_line(line) for line in tables.reviewers],
            "second_readings": _kappa(tables.second),
        }
    )


def _numbers(found: FigureSummary) -> dict[str, Any]:
    return asdict(found) | {"improvement": found.improvement, "tokens": found.tokens}


def _line(line: AgreementLine) -> dict[str, Any]:
    return _fields(line) | {"second": _kappa(line.second)}


def _kappa(found: Kappa | None) -> dict[str, Any] | None:
    return None if found is None else _fields(found) | {"enough": found.enough}


def _fields(value: AgreementLine | Kappa) -> dict[str, Any]:
    """The fields as they are: a page has thousands, which ``asdict`` would copy in depth."""
    return {name: getattr(value, name) for name in value.__slots__}


async def list_limits(visit: Visit) -> Response:
    """The present figures."""
    found = await load_limits(visit)
    return json_answer({"account": found.account, "known": found.known, "limits": found.limits})


async def list_entries(visit: Visit) -> Response:
    """The newest lines, with the filters of the page."""
    lines, more = await load_lines(visit)
    body = {
        "lines": lines,
        "older": filters.next_cursor(lines[-1]) if more else None,
    }
    return json_answer(body)


async def list_suggestions(visit: Visit) -> Response:
    """The topics of a range, of one account or of all that the person may see.

    Raises:
        Refused: 422, an unusable range; 404, an account that the person may not see.
    """
    parameters = visit.request.query_params
    user_id = parameters.get("account") or None
    try:
        chosen = parse_suggestion_range(visit, parameters)
    except BadRange as bad:
        raise Refused(422, "Not a range", str(bad)) from bad
    found = await load_visible_suggestions(visit, user_id, chosen)
    body = {
        "account": user_id,
        "since": chosen.since,
        "until": chosen.until,
        "decisions": found.decisions,
        "complete": found.complete,
        "suggestions": [
            {
                "topic": each.topic,
                "key": each.key,
                "count": each.count,
                "unanswered": each.unanswered,
                "newest": each.newest,
                "examples": [row["id"] for row in each.decisions],
            }
            for each in found.topics
        ],
    }
    return json_answer(body)
