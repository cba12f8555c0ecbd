"""Calibration of one account: the reliability diagram and thresholds that reviews support."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlencode

from starlette.responses import Response

from db.access_log import LoggedAction
from db.account_settings.accounts import current_account
from db.customer_feedback.reading import ALL, FeedbackFilter, FeedbackRate, feedback_rates
from db.figures.figure_sql import SampleDimension
from review.access import Right
from review.accounts.stored_versions import account_of_path
from review.figures import ranges
from review.figures.ranges import Range
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.typed.numbers import typed_share
from review.typed.problems import share_problem
from trials.pages.plots import reliability_plot
from trials.pages.request_values import hidden_of
from trials.pure.threshold_proposals import (
    WANTED,
    ThresholdProposal,
    draft_observations,
    proposal_changes,
    threshold_proposals,
    threshold_value,
)
from trials.store.calibration import CalibrationSample, calibration_sample
from trials.store.candidates import CandidateSource, add_candidate
from trials.store.error_rates import ErrorSelection
from worker.account_settings import AccountRejected
from worker.model import Account
from worker.statistics.reliability import ReliabilityBin, calibration_error, reliability_bins

MOST_LABELS: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredCalibration:
    """What the reviews of a sample say, without the reviews.

    Attributes:
        readings: reviews that count; ``without_chance``: those that were left out.
        policies, labels: that the readings have.
        proposals: of confidence, where the policy has a single threshold, and of categories.
        feedback: what customers say, of all and by band of confidence; no part of the other figures.
    """

    readings: int
    without_chance: int
    policies: tuple[str, ...]
    labels: tuple[str, ...]
    bins: tuple[ReliabilityBin, ...]
    error: float | None
    proposals: tuple[ThresholdProposal, ...]
    feedback: tuple[FeedbackRate, ...] = ()


async def show_calibration(visit: Visit) -> Response:
    """The page."""
    account, parameters = account_of_path(visit), visit.request.query_params
    problems: list[str] = []
    chosen = _range(visit, problems)
    wanted = _wanted(parameters.get("precision", ""), problems)
    policy, label = parameters.get("policy", ""), parameters.get("label", "")
    settings = await current_account(visit.store.pool, account)
    hidden = await hidden_of(visit)

    async def measure() -> MeasuredCalibration:
        sample, said = await load_sample(visit, account, chosen), await _load_feedback(visit, account, chosen)
        return replace(_measured(settings, sample, policy, label, wanted), feedback=said)

    key = ("calibration", account, settings.version, wanted, policy, label, hidden,
           *sorted(chosen.query.items()))  # fmt: skip
    counted = await visit.site.reused_figures.get(key, visit.now, measure)
    found = counted.value
    await visit.log(LoggedAction.FIGURES, user_id=account, detail={"calibration": found.readings})
    return visit.render(
        "learn/calibration.html",
        status=400 if problems else 200,
        account=account,
        tab="learn",
        problem=" ".join(problems),
        chosen=chosen,
        counted_at=counted.at if counted.at != visit.now else None,
        titles=ranges.TITLES,
        wanted=wanted,
        policy=policy,
        label=label,
        found=found,
        customers=next((each for each in found.feedback if each.dimension == ALL), None),
        feedback_link=ranges.range_link(chosen, account=account, feedback=FeedbackFilter.WRONG),
        plot=reliability_plot(found.bins) if found.bins else None,
        proposals=[(each, threshold_value(each) if each.certified else None) for each in found.proposals],
        errors_link=f"{visit.url('learn_errors', account=account)}?{urlencode(chosen.query)}",
        made=parameters.get("made", ""),
        candidate=visit.query_id("candidate"),
        action=f"{visit.url('calibration_candidate', account=account)}?{urlencode(chosen.query)}",
    )


async def make_candidate(visit: Visit) -> Response:
    """Store one proposal as a candidate, computed again from the reviews."""
    account, target, name = account_of_path(visit), visit.field("target"), visit.field("name")
    problems: list[str] = []
    chosen, wanted = _range(visit, problems), _wanted(visit.field("precision"), problems)
    if problems:
        raise Refused(400, _("This range cannot be used"), " ".join(problems))
    sample = await load_sample(visit, account, chosen)
    settings = await current_account(visit.store.pool, account)
    found = threshold_proposals(settings, sample.readings, wanted)
    proposal = next((each for each in found if (each.target, each.name) == (target, name)), None)
    if proposal is None or proposal.certified is None:
        raise Refused(409, _("No threshold"), _("The reviews no longer support a threshold."))
    detail = {"candidate": f"{target} {name}", "threshold": threshold_value(proposal)}
    try:
        stored = await add_candidate(
            visit.store.pool,
            account,
            proposal_changes(settings, proposal),
            now=visit.now,
            made_by=CandidateSource.CALIBRATION,
            created_by=visit.person.login,
            note=f"{proposal.reviews} weighted reviews, precision {wanted:.0%} wanted",
            logged=visit.entry(LoggedAction.SETTINGS, user_id=account, detail=detail),
        )
    except AccountRejected as rejected:
        raise Refused(409, _("This threshold cannot be used"), str(rejected)) from rejected
    query = urlencode(
        chosen.query | {"precision": f"{wanted * 100:g}", "made": name, "candidate": str(stored.candidate_id)}
    )
    return visit.redirect("learn_calibration", query, account=account)


async def load_sample(visit: Visit, account: str, chosen: Range) -> CalibrationSample:
    """The readings of a range that the person may see."""
    hidden = await hidden_of(visit)
    selected = ErrorSelection(
        accounts=visit.accounts(Right.LEAD), account=account, since=chosen.since, until=chosen.until,
        now=visit.now, hidden=hidden,
    )  # fmt: skip
    return await visit.store.read_lists(lambda replica: calibration_sample(replica, selected))


async def _load_feedback(visit: Visit, account: str, chosen: Range) -> tuple[FeedbackRate, ...]:
    found = await visit.store.read_lists(
        lambda replica: feedback_rates(
            replica,
            accounts=visit.accounts(Right.LEAD),
            account=account,
            since=chosen.since,
            until=chosen.until,
        )
    )
    return tuple(each for each in found if each.dimension in {ALL, SampleDimension.CONFIDENCE})


def _measured(
    settings: Account, sample: CalibrationSample, policy: str, label: str, wanted: float
) -> MeasuredCalibration:
    bins = reliability_bins(draft_observations(sample.readings, policy=policy, label=label))
    found = threshold_proposals(settings, sample.readings, wanted)
    return MeasuredCalibration(
        readings=len(sample.readings),
        without_chance=sample.without_chance,
        policies=tuple(sorted({each.policy for each in sample.readings if each.policy} | {policy} - {""})),
        labels=tuple(_labels(sample, label)),
        bins=bins,
        error=calibration_error(bins),
        proposals=found,
    )


def _labels(sample: CalibrationSample, label: str) -> list[str]:
    """The most frequent labels, and the chosen one."""
    counted = Counter(f"{name}={value}" for each in sample.readings for name, value in each.labels.items())
    found = [name for name, _count in counted.most_common(MOST_LABELS)]
    return sorted({*found, *({label} - {""})})


def _range(visit: Visit, problems: list[str]) -> Range:
    parameters = visit.request.query_params
    chosen, problem = ranges.chosen_range(parameters, visit.now)
    if problem:
        problems.append(_("%(problem)s. The last 30 days are shown.") % {"problem": problem})
    return chosen


def _wanted(text: str, problems: list[str]) -> float:
    if not text.strip():
        return WANTED
    try:
        wanted = typed_share(text)
    except ValueError:
        wanted = 0.0
    if 0 < wanted < 1:
        return wanted
    problems.append(share_problem(text))
    return WANTED
