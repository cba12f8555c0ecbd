"""The dashboard as values for its template."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from db.figures.dashboard import DashboardFigures
from db.figures.histograms import SpreadKind
from review.charts.plots import spark
from review.charts.scales import duration
from review.dashboard import tiles
from review.dashboard.drawings import Cell, DashboardPlots, PlotTable, count_by
from review.dashboard.tiles import Compared, FigureChange, Tile, relative_change
from review.figures.ranges import range_link
from review.figures.summary import summarise, time_percentiles
from review.languages import gettext as _
from review.languages import mark
from review.words.decisions import DECISION_LABELS
from worker.reasons import FAILURE_FAMILIES, Reason, ReasonFamily

KINDS: Final = dict.fromkeys(FAILURE_FAMILIES, "failure") | {
    ReasonFamily.BLOCKED: "block",
    ReasonFamily.SETTINGS: "switch",
}

AXES: Final = {
    SpreadKind.TOTAL: mark("Percentiles from arrival to the decision, on a logarithmic axis"),
    SpreadKind.WAITING: mark("Percentiles from arrival to the first stage, on a logarithmic axis"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonLine:
    """One reason in the table of reasons."""

    reason: str
    kind: str
    events: int
    share: float
    change: FigureChange | None
    spark: Markup
    href: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardView:
    """Everything on the page except its form."""

    decided: tuple[Tile, ...]
    ran: tuple[Tile, ...]
    plots: tuple[PlotTable, ...]
    reasons: tuple[ReasonLine, ...]
    times: tuple[tuple[Cell, ...], ...]
    empty: bool
    figures: Compared

    @property
    def compared(self) -> bool:
        """Whether there is a range before."""
        return self.figures.before is not None


def build_view(plots: DashboardPlots) -> DashboardView:
    """The values of the page."""
    found = plots.found
    compared = compare_figures(found)
    total, waiting = (
        (time_percentiles(found.spreads, kind), time_percentiles(found.before_spreads, kind))
        for kind in (SpreadKind.TOTAL, SpreadKind.WAITING)
    )
    return DashboardView(
        decided=tiles.decision_tiles(compared),
        ran=tiles.run_tiles(compared, total, waiting),
        plots=(
            plots.decisions(),
            plots.blocks(),
            plots.failures(),
            plots.time_percentiles(SpreadKind.TOTAL, _("Time to a decision"), _(AXES[SpreadKind.TOTAL])),
            plots.confidence(),
            plots.mean_confidence(),
            *((plots.mean_confidence_by_label(),) if found.labels else ()),
            plots.time_percentiles(SpreadKind.WAITING, _("Waiting before work"), _(AXES[SpreadKind.WAITING])),
        ),
        reasons=_reasons(plots, compared),
        times=_times(found),
        empty=not compared.now.decisions,
        figures=compared,
    )


def compare_figures(found: DashboardFigures) -> Compared:
    """The figures with those of the range before, if it has any."""
    before = None if found.missing_before else summarise(found.before, found.answered_before)
    return Compared(
        now=summarise(found.counts, found.answered),
        whole=summarise(
            (row for row in found.counts if not row["open"]),
            (row for row in found.answered if not row["open"]),
        ),
        before=before if before is not None and before.decisions else None,
    )


def _reasons(plots: DashboardPlots, compared: Compared) -> tuple[ReasonLine, ...]:
    """Every reason that occurred, now or before, most frequent first."""
    counts = count_by(plots.found.counts, lambda row: row["reason_code"])
    before = compared.before.by_reason if compared.before else {}
    now, whole = compared.now.by_reason, compared.whole.by_reason
    return tuple(
        ReasonLine(
            reason=reason,
            kind=_kind(reason),
            events=now.get(reason, 0),
            share=now.get(reason, 0) / max(1, compared.now.decisions),
            change=relative_change(whole.get(reason, 0), before.get(reason, 0)) if compared.before else None,
            spark=spark([counts[start, reason] for start in plots.starts]),
            href=range_link(plots.chosen, **plots.filters, reason=reason),
        )
        for reason in [*now, *(each for each in before if each not in now)]
    )


def _times(found: DashboardFigures) -> tuple[tuple[Cell, ...], ...]:
    """Percentiles of the time to a decision and of waiting, by decision and for all."""
    rows = []
    for decision, title in ((None, mark("All")), *DECISION_LABELS.items()):
        each_kind = (
            time_percentiles(found.spreads, kind, decision) for kind in (SpreadKind.TOTAL, SpreadKind.WAITING)
        )
        values = [value for each in each_kind for value in each.values()]
        rows.append((Cell(text=_(title)), *(Cell(text="–" if ms is None else duration(ms)) for ms in values)))
    return tuple(rows)


def _kind(reason: str) -> str:
    """The kind of ending of a reason; empty for a code of another release."""
    return KINDS.get(Reason(reason).spec.family, "") if reason in Reason.__members__ else ""
