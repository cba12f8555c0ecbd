"""What all policies share: names, previews, time stamps, and the outcomes that need no policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Protocol

from worker.assessment.judge import Answer, JudgeOutcome
from worker.assessment.values import Action, ReplyKind, Tier, Unusable
from worker.model import Assessment, Json

NO_COUNTS: Mapping[str, tuple[int, int]] = MappingProxyType({})


class CommonPolicy(Protocol):
    """What every policy says, whatever its design.

    Attributes:
        version: raised whenever a default changes.
        enabled: False lets every draft through unassessed.
        gate: whether small talk, questions back and hand-offs pass without a fact check.
        low_action: what becomes of a draft that cannot be trusted.
    """

    @property
    def version(self) -> int: ...  # noqa: D102  # described by the class
    @property
    def enabled(self) -> bool: ...  # noqa: D102
    @property
    def gate(self) -> bool: ...  # noqa: D102
    @property
    def low_action(self) -> Action: ...  # noqa: D102


def check_policy(
    policy: CommonPolicy, *, shares: Sequence[str], counts: Mapping[str, tuple[int, int]] = NO_COUNTS
) -> None:
    """Raise ``ValueError`` for a field that is not what it must be: ``field: expected ..., got ...``."""
    for name in shares:
        value = getattr(policy, name)
        if not 0.0 <= value <= 1.0:
            raise ValueError(f"{name}: expected a number from 0 to 1, got {value}")
    for name, (least, most) in counts.items():
        value = getattr(policy, name)
        if value is not None and not least <= value <= most:
            raise ValueError(f"{name}: expected a number from {least} to {most}, got {value}")
    if policy.low_action not in (Action.FALLBACK, Action.ESCALATE, Action.SILENCE):
        raise ValueError(f"low_action: expected fallback, escalate or silence, got {policy.low_action}")


def name_of(design: str, version: int) -> str:
    """How a policy is named in an assessment: ``calibrated@1``."""
    return f"{design}@{version}"


def preview(text: str, chars: int) -> str:
    """The first ``chars`` characters of a text, with three dots when there was more."""
    return text if len(text) <= chars else text[:chars] + "..."


def undecided_reasons(answers: Sequence[Answer]) -> tuple[str, ...]:
    """One sentence for each question the judge gave no usable answer to."""
    return tuple(
        f"no score from the judge: {a.outcome.value}" + (f" ({a.detail})" if a.detail else "")
        for a in answers
        if a.outcome is not JudgeOutcome.SCORED
    )


def stamped(record: Mapping[str, Json], at: datetime) -> dict[str, Json]:
    """A record of seed 000 or 001 with the moment it was made, ISO 8601."""
    return {**record, "timestamp": at.isoformat()}


def disabled(design: str, policy: CommonPolicy) -> Assessment:
    """The outcome when the account has switched its policy off: the draft goes, and the record says why."""
    return Assessment(
        policy=name_of(design, policy.version),
        confidence=1.0,
        tier=Tier.HIGH,
        action=Action.SEND,
        category="disabled",
        explanation="Assessment is switched off for this account; nothing was checked.",
    )


def cannot_assess(design: str, policy: CommonPolicy, why: Unusable) -> Assessment:
    """The outcome for a draft that cannot be assessed: never sent, and no fallback text speaks for it."""
    return Assessment(
        policy=name_of(design, policy.version),
        confidence=0.0,
        tier=Tier.LOW,
        action=Action.SILENCE if policy.low_action is Action.FALLBACK else policy.low_action,
        category=why,
        failed_checks=(why,),
        reasons=(f"the draft cannot be assessed: {why.value}",),
        explanation=f"The draft cannot be assessed ({why.value}), so it is not sent.",
    )


def needs_no_check(design: str, policy: CommonPolicy, kind: ReplyKind) -> Assessment:
    """The outcome for a draft that states no fact."""
    return Assessment(
        policy=name_of(design, policy.version),
        confidence=1.0,
        tier=Tier.HIGH,
        action=Action.SEND,
        category=kind,
        passed_checks=("gate",),
        reasons=(f"the draft is a {kind.value.replace('_', ' ')} and states no fact",),
        explanation="The draft states no fact, so there is nothing to check against the evidence.",
    )


def does_not_know(design: str, policy: CommonPolicy, fallback_text: str | None) -> Assessment:
    """The outcome for a draft that only says it has no answer: true, and of no use to the author."""
    return Assessment(
        policy=name_of(design, policy.version),
        confidence=1.0,
        tier=Tier.HIGH,
        action=policy.low_action,
        category=ReplyKind.REFUSAL,
        passed_checks=("gate",),
        reasons=("the draft says that it has no answer",),
        explanation=f"The draft says that it has no answer. Action: {policy.low_action}.",
        fallback_text=fallback_text if policy.low_action is Action.FALLBACK else None,
    )
