"""A figure of the dashboard as a file: its table as CSV, its plot as SVG."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from starlette.responses import Response

from db.access_log import LoggedAction
from review.charts.svg_file import plot_file
from review.dashboard.dashboard_page import load_dashboard, parse_page_query, range_log_detail
from review.dashboard.dashboard_view import DashboardView
from review.dashboard.drawings import Cell, PlotTable
from review.figures.ranges import BadRange
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.lists.export_layout import csv_text


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureTable:
    """A table as it is written to a file."""

    heads: Sequence[str]
    rows: Iterable[Sequence[object]]


async def download_csv(visit: Visit) -> Response:
    """The table of a figure."""
    key, loaded = await _load(visit)
    table = _table(loaded, key)
    if table is None:
        raise _unknown()
    body = "\ufeff" + csv_text([table.heads, *table.rows])
    return _file(body, "text/csv; charset=utf-8", f"{key}.csv")


async def download_svg(visit: Visit) -> Response:
    """The plot of a figure."""
    key, loaded = await _load(visit)
    drawn = _plot(loaded, key)
    if drawn is None:
        raise _unknown()
    return _file(str(plot_file(drawn.plot)), "image/svg+xml", f"{key}.svg")


async def _load(visit: Visit) -> tuple[str, DashboardView]:
    """The key of the URL, and the figures."""
    try:
        query = parse_page_query(visit, visit.request.query_params)
    except BadRange as bad:
        raise Refused(400, _("This range cannot be used"), str(bad)) from bad
    key = str(visit.request.path_params["figure"])
    loaded = (await load_dashboard(visit, query)).value
    detail = range_log_detail(query.chosen) | {"figure": key[:40]}
    await visit.log(LoggedAction.FIGURES, user_id=query.figures.account, detail=detail)
    return key, loaded


def _plot(loaded: DashboardView, key: str) -> PlotTable | None:
    return next((each for each in loaded.drawn if each.key == key), None)


def _table(loaded: DashboardView, key: str) -> FigureTable | None:
    """The table of a key; None for an unknown one."""
    drawn = _plot(loaded, key)
    if drawn is not None:
        return FigureTable(heads=drawn.heads, rows=[list(map(_value, row)) for row in drawn.rows])
    match key:
        case "change":
            return _change(loaded)
        case "reasons":
            rows = [(each.reason, each.events, each.share) for each in loaded.reasons]
            return FigureTable(heads=("reason", "decisions", "share"), rows=rows)
        case "totals":
            return FigureTable(
                heads=("figure", "value", "note", "before"),
                rows=[
                    (each.title, each.value, each.note, each.change and each.change.before)
                    for each in loaded.tiles
                ],
            )
    return None


def _change(loaded: DashboardView) -> FigureTable:
    """Every part of the change; the rest of a dimension has an empty value."""
    heads = ("measure", "dimension", "value", "now", "before", "change")
    if loaded.change is None:
        return FigureTable(heads=heads, rows=())
    measure = loaded.change.measure.value
    return FigureTable(
        heads=heads,
        rows=[
            (measure, table.dimension.value, line.value or "", line.now, line.before, line.change)
            for table in loaded.change.tables
            for line in table.lines
        ],
    )


def _value(cell: Cell) -> object:
    if cell.value is not None:
        return cell.value
    return int(cell.text) if cell.text.isdecimal() else "" if cell.text == "\N{EN DASH}" else cell.text


def _file(body: str, media_type: str, name: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="hushgate-{name}"'}
    return Response(body, media_type=media_type, headers=headers)


def _unknown() -> Refused:
    return Refused(404, _("Not found"), _("There is no such figure."))
