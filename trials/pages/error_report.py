"""Error rates as rows: of a table, and of a file for the transparency report (DSA, Article 15(1)(e))."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from db.connection import Connection
from db.customer_feedback.reading import ALL, FeedbackRate, feedback_rates
from db.figures import dashboard
from db.figures.reach import FigureFilter, FigureRow
from trials.store.error_rates import (
    KINDS,
    NOT_AUTOMATED,
    ErrorDimension,
    ErrorRate,
    ErrorSelection,
    SampleDesign,
    WrongKind,
    error_rates,
    sample_designs,
)
from worker.model import DecisionKind

COLUMNS: Final = (
    "kind", "dimension", "value", "errors", "reviewed", "share", "low", "high", "decisions",
    "estimated", "estimated_low", "estimated_high", "unsure", "without_chance",
)  # fmt: skip
FILE_COLUMNS: Final = (
    "account", "period_start", "period_end", "automated_means", "purpose", "indicator", "group",
    "group_value", "value", "low_95", "high_95", "decisions", "reviewed", "errors", "sample_design",
)  # fmt: skip
MEANS: Final = {
    WrongKind.WRONG_BLOCK: "rules, moderation models and confidence policies that withhold a reply",
    WrongKind.WRONG_REPLY: "language model with confidence policy that replies",
}
PURPOSES: Final = {
    WrongKind.WRONG_BLOCK: "withhold automated replies to messages that a person should see",
    WrongKind.WRONG_REPLY: "reply to messages without a person",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorLine:
    """An error rate with the decisions that it is about.

    Attributes:
        decisions: counted in the period; None where they are not counted by this property.
    """

    rate: ErrorRate
    decisions: int | None

    @property
    def estimated(self) -> tuple[int, int, int] | None:
        """The number of wrong decisions with its interval; None where nothing is counted or reviewed."""
        share = self.rate.share
        if share is None or self.decisions is None:
            return None
        most = self.decisions
        return round(share.share * most), round(share.low * most), round(share.high * most)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorReport:
    """The lines of a period and the samples they rest on; ``account`` is empty for several.

    Attributes:
        feedback: rates of customers' feedback, a signal of its own.
    """

    account: str
    since: datetime
    until: datetime
    lines: tuple[ErrorLine, ...]
    designs: tuple[SampleDesign, ...]
    feedback: tuple[FeedbackRate, ...] = ()

    @property
    def customers(self) -> FeedbackRate | None:
        """What customers said of AI replies; no part of the lines, which rest on reviews alone."""
        return next((each for each in self.feedback if each.dimension == ALL), None)

    def of(self, kind: WrongKind, dimension: ErrorDimension) -> tuple[ErrorLine, ...]:
        """Lines of a kind and dimension; of weeks the oldest first, of others the most errors first."""
        found = [each for each in self.lines if each.rate.kind is kind and each.rate.dimension is dimension]
        if dimension not in (ErrorDimension.WEEK, ErrorDimension.CONFIDENCE):
            found.sort(key=lambda each: (-_share(each.rate), each.rate.value))
        return tuple(found)

    def whole(self, kind: WrongKind) -> ErrorLine | None:
        """The line of all decisions of a kind; None without reviews."""
        return next(iter(self.of(kind, ErrorDimension.ALL)), None)


def error_lines(rates: Sequence[ErrorRate], counts: Sequence[FigureRow]) -> tuple[ErrorLine, ...]:
    """The rates with the counted decisions of all and of each reason."""
    totals: dict[tuple[str, str, str], int] = {}
    for row in counts:
        if row["decision"] not in set(KINDS) or row["reason_code"] in NOT_AUTOMATED:
            continue
        kind = KINDS[DecisionKind(row["decision"])]
        for key in ((kind, ErrorDimension.ALL, ""), (kind, ErrorDimension.REASON, row["reason_code"])):
            totals[key] = totals.get(key, 0) + row["events"]
    return tuple(
        ErrorLine(rate=each, decisions=totals.get((each.kind, each.dimension, each.value))) for each in rates
    )


async def load_error_report(
    connection: Connection, selected: ErrorSelection, counted: FigureFilter
) -> ErrorReport:
    """The report of the selection; ``counted`` covers the same decisions."""
    rates = await error_rates(connection, selected)
    counts = await dashboard.load_totals(connection, counted, now=selected.now)
    return ErrorReport(
        account=selected.account or "",
        since=selected.since,
        until=selected.until,
        lines=error_lines(rates, counts.counts),
        designs=await sample_designs(connection, selected),
        feedback=await feedback_rates(
            connection,
            accounts=selected.accounts,
            account=selected.account,
            since=selected.since,
            until=selected.until,
        ),
    )


def table_row(line: ErrorLine) -> dict[str, Any]:
    """One line with ``COLUMNS``."""
    rate, share = line.rate, line.rate.share
    estimated = line.estimated or (None, None, None)
    values = (
        rate.kind.value, rate.dimension.value, rate.value, rate.errors, rate.reviewed,
        share and share.share, share and share.low, share and share.high, line.decisions,
        *estimated, rate.unsure, rate.without_chance,
    )  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))


def accuracy_rows(report: ErrorReport) -> Iterator[dict[str, Any]]:
    """Rows with ``FILE_COLUMNS``: accuracy and error rate of all decisions, error rates of each property."""
    design = "; ".join(map(design_text, report.designs)) or "no sample"
    for line in report.lines:
        rate, share = line.rate, line.rate.share
        if share is None or rate.dimension is ErrorDimension.WEEK:
            continue
        shown = {
            "account": report.account or "all",
            "period_start": report.since.date().isoformat(),
            "period_end": report.until.date().isoformat(),
            "automated_means": MEANS[rate.kind],
            "purpose": PURPOSES[rate.kind],
            "group": rate.dimension.value,
            "group_value": rate.value,
            "decisions": line.decisions,
            "reviewed": rate.reviewed,
            "errors": rate.errors,
            "sample_design": design,
        }
        error = {"indicator": "error_rate", "value": share.share, "low_95": share.low, "high_95": share.high}
        yield _ordered(shown | _rounded(error))
        if rate.dimension is ErrorDimension.ALL:
            accuracy = {
                "indicator": "accuracy",
                "value": 1 - share.share,
                "low_95": 1 - share.high,
                "high_95": 1 - share.low,
            }
            yield _ordered(shown | _rounded(accuracy))


def design_text(design: SampleDesign) -> str:
    """How a queue drew, such as ``5% of sent decisions (seed 1), 20 drawn, 12 reviewed``."""
    stored = design.definition
    drawn, per, seed = stored.get("drawn", "silent"), stored.get("per", ""), stored.get("seed", 1)
    each = f"{stored['each']} a day and {per or 'account set'}" if stored.get("each") else ""
    amount = each or f"{stored.get('share', 0):.3%} ({'by ' + per if per else 'simple random'})"
    read = f"{design.drawn} drawn, {design.reviewed} reviewed"
    return f"{amount} of {drawn} decisions (seed {seed}), {read}"


def _ordered(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in FILE_COLUMNS}


def _rounded(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: round(value, 6) if isinstance(value, float) else value for name, value in row.items()}


def _share(rate: ErrorRate) -> float:
    return rate.share.share if rate.share else -1.0
