"""``hushgate trials errors``: how often automated decisions are wrong, estimated from reviewed samples."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

import typer

from cli.options import read_lists, time_of, words_of
from cli.output import emit, emit_csv, fail, print_message
from db.connection import Connection
from db.figures.reach import FigureFilter
from trials.commands.shared import check_used
from trials.pages.error_report import (
    COLUMNS,
    FILE_COLUMNS,
    ErrorReport,
    accuracy_rows,
    design_text,
    load_error_report,
    table_row,
)
from trials.store.error_rates import ErrorDimension, ErrorSelection

DAY: Final = timedelta(days=1)
LONGEST: Final = timedelta(days=366)
SHOWN: Final = COLUMNS[:10]


def errors(
    account: Annotated[str | None, typer.Option("--account", "-a", help="Only of this account.")] = None,
    since: Annotated[
        str, typer.Option(help="Decisions from then on, such as 2026-11-01 or 30d; days are UTC.")
    ] = "30d",
    until: Annotated[str | None, typer.Option(help="Decisions before then; default: now.")] = None,
    by: Annotated[
        str, typer.Option(help=f"Lines of these, of {', '.join(ErrorDimension)}; empty for every line.")
    ] = "all,reason_code",
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    transparency: Annotated[
        bool, typer.Option(help="CSV with accuracy and error rate, for a report by Article 15(1)(e) DSA.")
    ] = False,
) -> None:
    """Print estimated shares of wrong blocks and wrong replies, with 95 % intervals.

    Only reviews of samples count, each weighted by the inverse of its chance of being drawn. A wrong block is
    a decision without a reply that a person overturned, a wrong reply a sent one. Open a queue of the kind
    sample, drawn from silent and sent decisions, to have both. For example:

        hushgate trials errors --account corner-shop --since 90d --by all,matched_rule,week

        hushgate trials errors --account corner-shop --since 2026-01-01 --transparency > accuracy.csv
    """
    start, end = time_of("--since", since), time_of("--until", until) or datetime.now(UTC)
    assert start is not None  # --since has a default
    start = start.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    if not start < end <= start + LONGEST:
        raise fail(f"--since: expected at most {LONGEST.days} days before --until, got {since!r}")
    dimensions = words_of("--by", by, ErrorDimension) or tuple(ErrorDimension)
    check_used(account, option="--account")
    report = read_lists(lambda connection: load_report(connection, account, start, end))
    for design in report.designs:
        print_message(f"{design.name}: {design_text(design)}", style="dim")
    if report.customers is not None:
        said = report.customers
        print_message(f"customers who answered: {said.answered}; of these wrong: {said.wrong}", style="dim")
    if not report.lines:
        print_message("no reviews of samples in this period; open a queue of kind sample", style="yellow")
    lines = [table_row(each) for each in report.lines if each.rate.dimension in dimensions]
    if transparency:
        emit_csv(accuracy_rows(report), FILE_COLUMNS)
    elif as_csv:
        emit_csv(lines, COLUMNS)
    else:
        emit(lines, SHOWN)


async def load_report(
    connection: Connection, account: str | None, since: datetime, until: datetime
) -> ErrorReport:
    """The report of one account, or of all."""
    selected = ErrorSelection(accounts=None, account=account, since=since, until=until, now=datetime.now(UTC))
    counted = FigureFilter(
        accounts=None, account=account, scope=None, since=since, until=until, step=DAY,
        back=-((since - until) // DAY) * DAY,
    )  # fmt: skip
    return await load_error_report(connection, selected, counted)
