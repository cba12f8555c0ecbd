"""``hushgate trials calibration``: whether confidence is kept, and thresholds that reviews support."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Final

import typer

from cli.options import read_lists, time_of
from cli.output import emit, emit_json, fail, print_message, stdout_is_terminal
from db.account_settings.accounts import current_account
from db.customer_feedback.reading import FeedbackRate, feedback_rates
from db.figures.figure_sql import SampleDimension
from trials.commands.shared import check_used, run
from trials.pure.threshold_proposals import (
    WANTED,
    ThresholdProposal,
    draft_observations,
    proposal_changes,
    threshold_proposals,
)
from trials.store.calibration import CalibrationSample, calibration_sample
from trials.store.error_rates import ErrorSelection
from worker.account_settings import AccountRejected
from worker.model import Account
from worker.statistics.reliability import ReliabilityBin, calibration_error, reliability_bins

BIN_COLUMNS: Final = ("low", "high", "score", "right", "right_low", "right_high", "weight", "reviewed")
FEEDBACK_COLUMNS: Final = ("confidence", "answered", "wrong")
PROPOSAL_COLUMNS: Final = (
    "threshold_of", "current", "proposed", "precision", "precision_low", "precision_high", "coverage",
    "reviews", "needed",
)  # fmt: skip


def calibration(
    account: Annotated[str, typer.Argument(help="The account.")],
    since: Annotated[str, typer.Option(help="Decisions from then on, such as 2026-11-01 or 90d.")] = "90d",
    until: Annotated[str | None, typer.Option(help="Decisions before then; default: now.")] = None,
    policy: Annotated[str, typer.Option(help="Only drafts that this policy assessed.")] = "",
    label: Annotated[str, typer.Option(help="Only events with this label, such as subject=tax.")] = "",
    precision: Annotated[float, typer.Option(help="The wanted precision of a threshold, 0 to 1.")] = WANTED,
) -> None:
    """Print how often drafts of each confidence were right, and thresholds for a wanted precision.

    Only reviews of samples count, weighted by the inverse of their chance. A proposed threshold keeps the
    wanted precision with a certainty of 90 %; without enough reviews there is none, and `needed` says how
    many right ones it takes at least. In a pipe each line is one JSON object with `bin`, `summary`,
    `proposal` or `feedback`: how many customers call replies of a confidence wrong, no part of the others.

        hushgate trials calibration corner-shop --precision 0.95
    """
    if not 0 < precision < 1:
        raise fail(f"--precision: expected a number between 0 and 1, got {precision}")
    start, end = time_of("--since", since), time_of("--until", until) or datetime.now(UTC)
    assert start is not None  # --since has a default
    selected = ErrorSelection(accounts=None, account=account, since=start, until=end, now=datetime.now(UTC))
    check_used(account)
    settings = run(lambda source: current_account(source, account))
    sample = read_lists(lambda connection: calibration_sample(connection, selected))
    bins = reliability_bins(draft_observations(sample.readings, policy=policy, label=label))
    said = read_lists(
        lambda connection: feedback_rates(connection, accounts=None, account=account, since=start, until=end)
    )
    _print(settings, sample, bins, said, threshold_proposals(settings, sample.readings, precision))


def _print(
    account: Account,
    sample: CalibrationSample,
    bins: tuple[ReliabilityBin, ...],
    said: tuple[FeedbackRate, ...],
    proposals: tuple[ThresholdProposal, ...],
) -> None:
    summary = {
        "reviews": sum(each.hits.total for each in bins),
        "calibration_error": calibration_error(bins),
        "without_chance": sample.without_chance,
    }
    rows = [_bin_row(each) for each in bins]
    rated = [
        {"confidence": each.value, "answered": each.answered, "wrong": each.wrong}
        for each in said
        if each.dimension == SampleDimension.CONFIDENCE
    ]
    proposed = [_proposal_row(account, each) for each in proposals]
    if stdout_is_terminal():
        emit(rows, BIN_COLUMNS)
        emit([summary], tuple(summary))
        emit(proposed, PROPOSAL_COLUMNS)
        emit(rated, FEEDBACK_COLUMNS)
    else:
        for kind, lines in (
            ("bin", rows),
            ("summary", [summary]),
            ("proposal", proposed),
            ("feedback", rated),
        ):
            for each in lines:
                emit_json({kind: each})
    for proposal in proposals:
        if proposal.certified is None:
            print_message(missing_text(proposal), style="yellow")


def missing_text(proposal: ThresholdProposal) -> str:
    """Why there is no threshold."""
    name, wanted = f"{proposal.target} {proposal.name}", f"{proposal.wanted:.0%}"
    return (
        f"{name}: {proposal.reviews} weighted reviews support no threshold with a precision of {wanted};"
        f" expected at least {proposal.needed} right ones above it"
    )


def _bin_row(found: ReliabilityBin) -> dict[str, Any]:
    values = (
        found.low, found.high, found.score, found.hits.share, found.hits.low, found.hits.high, found.weight,
        found.hits.total,
    )  # fmt: skip
    return dict(zip(BIN_COLUMNS, values, strict=True))


def _proposal_row(account: Account, found: ThresholdProposal) -> dict[str, Any]:
    row: dict[str, Any] = {
        "threshold_of": f"{found.target} {found.name}",
        "current": found.current,
        "reviews": found.reviews,
        "needed": found.needed,
        "wanted": found.wanted,
    }
    if (certified := found.certified) is None:
        return row
    row |= {
        "proposed": certified.threshold,
        "precision": certified.precision.share,
        "precision_low": certified.precision.low,
        "precision_high": certified.precision.high,
        "coverage": certified.coverage.share,
        "coverage_interval": [certified.coverage.low, certified.coverage.high],
    }
    try:
        return row | {"changes": proposal_changes(account, found)}
    except AccountRejected as rejected:
        return row | {"changes": None, "refused": list(map(": ".join, rejected.problems))}
