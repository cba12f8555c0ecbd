"""Thresholds that reviews of samples support: from which readings, and the change of settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from trials.pure.statistics.precision import CertifiedThreshold, certified_threshold, reviews_needed
from worker.account_settings import changed
from worker.assessment.policies.designs import design_name, design_of, parse_policy
from worker.model import OPENAI_MODERATION, Account, DecisionKind, Json
from worker.reasons import ReasonFamily, reasons_of
from worker.statistics.shares import Observation

MEASURED: Final = reasons_of(ReasonFamily.NOT_TRUSTED, ReasonFamily.ESCALATED)
"""Endings in which a measured draft was not sent because of its measure."""
WANTED: Final = 0.9


class ThresholdTarget(StrEnum):
    """What a threshold is about: confidence of drafts, or the scores of a category of moderation."""

    CONFIDENCE = "confidence"
    CATEGORY = "category"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedMeasure:
    """One reviewed decision of a sample.

    Attributes:
        agrees: the reviewer's ruling; unsure ones are no readings.
        weight: inverse of the chance of being drawn.
        policy: name of the policy that assessed the draft; empty without one.
        confidence: 0..1; None without an assessed draft.
        labels: of the event.
        scores: category -> 0..1, as the moderation API gave them for the message.
        harmful: whether an overturned reply should have been stopped by moderation.
    """

    decision: str
    reason_code: str
    matched_rule: str | None
    agrees: bool
    weight: float
    policy: str = ""
    confidence: float | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    scores: Mapping[str, float] = field(default_factory=dict)
    harmful: bool = False
    decided_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdProposal:
    """What the reviews support.

    Attributes:
        name: of the setting's field or the category.
        current: the threshold in force; None where another measure decides.
        wanted: 0..1, the precision.
        certified: the lowest threshold with this precision; None where the reviews support none.
        reviews: readings that it was computed from.
        needed: fewest kept readings, all right, that could support one.
    """

    target: ThresholdTarget
    name: str
    current: float | None
    wanted: float
    certified: CertifiedThreshold | None
    reviews: int
    needed: int

    @property
    def changes_anything(self) -> bool:
        """Whether the threshold differs from the one in force."""
        return self.certified is not None and threshold_value(self) != self.current


def draft_observations(
    readings: Iterable[ReviewedMeasure], *, policy: str = "", label: str = ""
) -> tuple[Observation, ...]:
    """Whether measured drafts were right, of one policy and label or of all.

    A sent draft is right where the reviewer agrees; one that was not sent because of its measure where the
    reviewer does not.
    """
    return tuple(_drafts(readings, policy, label))


def _drafts(readings: Iterable[ReviewedMeasure], policy: str, label: str) -> Iterator[Observation]:
    name, _, value = label.partition("=")
    for each in readings:
        score = each.confidence
        is_sent = each.decision == DecisionKind.RESPOND
        of_policy = not policy or each.policy == policy
        of_label = not label or each.labels.get(name) == value
        if score is not None and of_policy and of_label and (is_sent or each.reason_code in MEASURED):
            yield Observation(hit=each.agrees == is_sent, weight=each.weight, score=score)


def category_observations(readings: Iterable[ReviewedMeasure], category: str) -> tuple[Observation, ...]:
    """Whether messages with a score of the category should have been stopped.

    Those that the category stopped, by the ruling; sent replies with which the reviewer agrees, as no; sent
    replies that moderation should have stopped, as yes. Others say nothing about the category.
    """
    found = []
    rule = f"{OPENAI_MODERATION}:{category}"
    for each in readings:
        if (score := each.scores.get(category)) is None:
            continue
        if each.matched_rule == rule and each.decision == DecisionKind.IGNORE:
            found.append(Observation(hit=each.agrees, weight=each.weight, score=score))
        elif each.decision == DecisionKind.RESPOND and (each.agrees or each.harmful):
            found.append(Observation(hit=not each.agrees, weight=each.weight, score=score))
    return tuple(found)


def confidence_proposal(
    account: Account, readings: Iterable[ReviewedMeasure], wanted: float
) -> ThresholdProposal | None:
    """The threshold of the policy in force; None where the policy has no single one."""
    policy = parse_policy(dict(account.assessment_policy))
    if not (name := design_of(policy).main_threshold):
        return None
    observations = draft_observations(readings, policy=design_name(policy))
    return _proposal(ThresholdTarget.CONFIDENCE, name, current_threshold(account), observations, wanted)


def category_proposals(
    account: Account, readings: Iterable[ReviewedMeasure], wanted: float
) -> tuple[ThresholdProposal, ...]:
    """The threshold of each category that stopped anything or has a threshold."""
    held = tuple(readings)
    rules = {each.matched_rule or "" for each in held}
    prefix = f"{OPENAI_MODERATION}:"
    names = {each.removeprefix(prefix) for each in rules if each.startswith(prefix)}
    return tuple(
        _proposal(
            ThresholdTarget.CATEGORY,
            name,
            account.moderation_thresholds.get(name),
            category_observations(held, name),
            wanted,
        )
        for name in sorted(names | set(account.moderation_thresholds))
    )


def threshold_proposals(
    account: Account, readings: Iterable[ReviewedMeasure], wanted: float
) -> tuple[ThresholdProposal, ...]:
    """Proposals for confidence, where the policy has a single threshold, then for the categories."""
    held = tuple(readings)
    confidence = confidence_proposal(account, held, wanted)
    return (*([confidence] if confidence else []), *category_proposals(account, held, wanted))


def proposal_changes(account: Account, proposal: ThresholdProposal) -> Mapping[str, Json]:
    """The settings that a proposal changes, as ``worker.account_settings.changed`` takes them.

    Raises:
        ValueError: the reviews support no threshold.
        AccountRejected: the account cannot have this threshold.
    """
    if proposal.certified is None:
        raise ValueError("proposal: expected a certified threshold, got none")
    changes = threshold_changes(account, proposal.target, proposal.name, threshold_value(proposal))
    changed(account, changes)
    return changes


def threshold_changes(account: Account, target: ThresholdTarget, name: str, value: float) -> dict[str, Json]:
    """The settings with one threshold replaced."""
    if target is ThresholdTarget.CATEGORY:
        return {"moderation_thresholds": {**account.moderation_thresholds, name: value}}
    policy = dict(account.assessment_policy)
    if name == "high_threshold":
        policy.pop("highThreshold", None)  # its published name would be a second value
    return {"assessment_policy": {**policy, name: value}}


def threshold_value(proposal: ThresholdProposal) -> float:
    """The certified threshold as it is stored: rounded down, so that the certified scores are kept."""
    assert proposal.certified is not None
    return int(proposal.certified.threshold * 1000) / 1000


def current_threshold(account: Account) -> float | None:
    """The send threshold of the policy in force; None where the policy has several."""
    policy = parse_policy(dict(account.assessment_policy))
    name = design_of(policy).main_threshold
    return float(getattr(policy, name)) if name else None


def _proposal(
    target: ThresholdTarget, name: str, current: float | None, held: tuple[Observation, ...], wanted: float
) -> ThresholdProposal:
    return ThresholdProposal(
        target=target,
        name=name,
        current=current,
        wanted=wanted,
        certified=certified_threshold(held, wanted) if held else None,
        reviews=len(held),
        needed=reviews_needed(wanted),
    )
