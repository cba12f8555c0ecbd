"""The dashboard as its template takes it."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from db.dashboard import BLOCKED, FAILED, Figures
from db.histograms import Kind
from review.figures import figure_links, sparks, tiles
from review.figures.drawings import Cell, Drawn, Sketch, counted_by
from review.figures.scales import duration
from review.figures.summary import summary, times
from review.figures.tiles import Change, Compared, Tile, relative
from review.story.wording import VERDICTS
from worker.policy import ERROR_CLASS, ErrorClass, Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonLine:
    """One reason in the table of reasons."""

    reason: str
    kind: str
    events: int
    share: float
    change: Change | None
    spark: Markup
    href: str


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Everything on the page but its form."""

    decided: tuple[Tile, ...]
    ran: tuple[Tile, ...]
    drawn: tuple[Drawn, ...]
    reasons: tuple[ReasonLine, ...]
    times: tuple[tuple[Cell, ...], ...]
    empty: bool
    compared: bool


def view_of(sketch: Sketch) -> View:
    """The page."""
    found = sketch.found
    compared = compared_of(found)
    total, waiting = (
        (times(found.spreads, kind), times(found.before_spreads, kind)) for kind in (Kind.TOTAL, Kind.WAITING)
    )
    return View(
        decided=tiles.decided(compared),
        ran=tiles.ran(compared, total, waiting),
        drawn=(
            sketch.decisions(),
            sketch.blocks(),
            sketch.failures(),
            sketch.paces(Kind.TOTAL, "Time to a decision", "from arrival to the decision"),
            sketch.confidence(),
            sketch.paces(Kind.WAITING, "Waiting before work", "from arrival to the first stage"),
        ),
        reasons=_reasons(sketch, compared),
        times=_times(found),
        empty=not compared.now.decisions,
        compared=compared.before is not None,
    )


def compared_of(found: Figures) -> Compared:
    """The figures beside those of the range before, where there are any."""
    before = None if found.missing_before else summary(found.before)
    return Compared(
        now=summary(found.counts),
        whole=summary(row for row in found.counts if not row["open"]),
        before=before if before is not None and before.decisions else None,
    )


def _reasons(sketch: Sketch, compared: Compared) -> tuple[ReasonLine, ...]:
    """Every reason that occurred, now or before, most frequent first."""
    counted = counted_by(sketch.found.counts, lambda row: row["reason_code"])
    before = compared.before.by_reason if compared.before else {}
    now, whole = compared.now.by_reason, compared.whole.by_reason
    return tuple(
        ReasonLine(
            reason=reason,
            kind=_kind(reason),
            events=now.get(reason, 0),
            share=now.get(reason, 0) / max(1, compared.now.decisions),
            change=relative(whole.get(reason, 0), before.get(reason, 0)) if compared.before else None,
            spark=sparks.spark([counted[start, reason] for start in sketch.starts]),
            href=figure_links.of_range(sketch.chosen, **sketch.kept, reason=reason),
        )
        for reason in [*now, *(each for each in before if each not in now)]
    )


def _times(found: Figures) -> tuple[tuple[Cell, ...], ...]:
    """Percentiles of time to a decision and of waiting, of each decision and of all."""
    rows = []
    for verdict, title in ((None, "All"), *VERDICTS.items()):
        each_kind = (times(found.spreads, kind, verdict) for kind in (Kind.TOTAL, Kind.WAITING))
        values = [value for each in each_kind for value in each.values()]
        rows.append((Cell(text=title), *(Cell(text="–" if ms is None else duration(ms)) for ms in values)))
    return tuple(rows)


def _kind(reason: str) -> str:
    """What sort of ending a reason is, in a word."""
    if reason in BLOCKED:
        return "block"
    if reason in FAILED:
        return "failure"
    return "switch" if ERROR_CLASS.get(Reason(reason)) is ErrorClass.PRE_BLOCKED else ""
