"""Moves thresholds of accounts that declared bounds, one step a day, while the server runs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

import structlog

from db.access_log import LogEntry, LoggedAction
from db.account_settings.accounts import VersionMoved, current_account, store_account
from db.figures.adaptive import accounts_due
from db.figures.calibration import calibration_sample
from db.figures.error_rates import ErrorSelection
from db.review_store import Store
from review.http.visit import Site
from worker.account_settings import AccountRejected, changed
from worker.adaptive import AUTHOR, CATEGORY, CONFIDENCE, next_threshold, parse_bounds
from worker.errors import StorageUnavailable
from worker.model import Account
from worker.proposals import (
    WANTED,
    ReviewedMeasure,
    ThresholdProposal,
    ThresholdTarget,
    category_proposals,
    confidence_proposal,
    threshold_changes,
    threshold_value,
)

log = structlog.get_logger(__name__)

LOOK_S: Final = 600.0
BETWEEN: Final = timedelta(hours=23)
"""Between two steps of an account."""
LOOK_BACK: Final = timedelta(days=90)


async def run_adaptive(site: Site) -> None:
    """Look every ten minutes, until cancelled; during an outage of Postgres, look again."""
    while True:
        await asyncio.sleep(LOOK_S)
        try:
            await take_steps(site.store, site.now())
        except StorageUnavailable as error:
            log.warning("adaptive_postponed", kind=error.kind)


async def take_steps(store: Store, now: datetime) -> int:
    """Take a step for each account that is due; how many were taken."""
    taken = 0
    for user_id in await accounts_due(store.pool, author=AUTHOR, since=now - BETWEEN):
        try:
            taken += await _take_step(store, user_id, now)
        except StorageUnavailable:
            raise
        except Exception as error:  # the other accounts take theirs
            log.exception("adaptive_step_failed", account=user_id, exc_info=error)
    return taken


async def _take_step(store: Store, user_id: str, now: datetime) -> bool:
    """One step of an account, stored as its next version; the access log has the reason."""
    account = await current_account(store.pool, user_id)
    selected = ErrorSelection(accounts=None, account=user_id, since=now - LOOK_BACK, until=now, now=now)
    sample = await store.read_lists(lambda replica: calibration_sample(replica, selected))
    stepped, reason = next_step(account, sample.readings)
    if stepped == account:
        return False
    try:
        await store_account(
            store.pool,
            stepped,
            changed_by=AUTHOR,
            expected=account.version,
            logged=lambda version: _entry(user_id, version, reason),
        )
    except VersionMoved:  # a person or another server changed it meanwhile; the next look decides again
        return False
    log.info("adaptive_step", account=user_id, reason=reason)
    return True


def next_step(account: Account, readings: Iterable[ReviewedMeasure]) -> tuple[Account, str]:
    """The account one step on, and why; the same account where nothing moves or a change cannot be used."""
    held, stepped, reasons = tuple(readings), account, []
    for proposal in _proposals(account, held):
        bounds = parse_bounds(account.adaptive_thresholds[_key(proposal)])
        value = next_threshold(proposal.current, threshold_value(proposal), bounds)
        if value == proposal.current:
            continue
        try:
            stepped = changed(stepped, threshold_changes(stepped, proposal.target, proposal.name, value))
        except AccountRejected:
            continue
        reasons.append(_reason(proposal, value))
    return stepped, "; ".join(reasons)


def _proposals(account: Account, readings: tuple[ReviewedMeasure, ...]) -> Iterator[ThresholdProposal]:
    """Those that are certified and within declared bounds."""
    found = (confidence_proposal(account, readings, WANTED), *category_proposals(account, readings, WANTED))
    for each in found:
        if each is not None and each.certified is not None and _key(each) in account.adaptive_thresholds:
            yield each


def _key(proposal: ThresholdProposal) -> str:
    return CONFIDENCE if proposal.target is ThresholdTarget.CONFIDENCE else CATEGORY + proposal.name


def _reason(proposal: ThresholdProposal, value: float) -> str:
    certified = proposal.certified
    assert certified is not None
    before = "none" if proposal.current is None else f"{proposal.current:.3f}"
    return (
        f"{proposal.target} {proposal.name} {before} to {value:.3f}: {proposal.reviews} reviews support"
        f" {certified.threshold:.3f} with precision {certified.precision.share:.2f}"
        f" ({certified.precision.low:.2f} to {certified.precision.high:.2f})"
    )


def _entry(user_id: str, version: int, reason: str) -> LogEntry:
    detail = {"version": version, "reason": reason}
    return LogEntry(action=LoggedAction.SETTINGS, person=AUTHOR, user_id=user_id, detail=detail)
