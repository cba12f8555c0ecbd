"""Shared by all policies: names, previews, timestamps, and the assessments that no policy decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, ClassVar, Protocol

from worker.assessment.text.topics import unknown_topics
from worker.assessment.text.words import encodable_text
from worker.assessment.values import ReplyKind, UnusableReason
from worker.model import Action, Assessment, Json, Passage, Tier

NO_COUNTS: Mapping[str, tuple[int, int]] = MappingProxyType({})


class Policy(Protocol):
    """The settings that every policy, a dataclass, has.

    Attributes:
        version: increases with every change of a default.
        enabled: False sends every draft without an assessment.
        test_mode: True stores and shows every assessment and sends every draft (Confidence Guardrail, "Test
            Mode").
        gate: whether small talk, clarifying questions and hand-offs pass without a fact check.
        low_action: the action for a draft of low confidence.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def version(self) -> int: ...  # noqa: D102  # described by the class
    @property
    def enabled(self) -> bool: ...  # noqa: D102
    @property
    def test_mode(self) -> bool: ...  # noqa: D102
    @property
    def gate(self) -> bool: ...  # noqa: D102
    @property
    def low_action(self) -> Action: ...  # noqa: D102


def check_policy(
    policy: Policy, *, shares: Sequence[str], counts: Mapping[str, tuple[int, int]] = NO_COUNTS
) -> None:
    """Raise ``ValueError`` for a wrong field: ``field: expected ..., got ...``."""
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


def policy_name(design: str, version: int) -> str:
    """The name of a policy in an assessment: ``calibrated@1``."""
    return f"{design}@{version}"


def draft_preview(text: str, chars: int) -> str:
    """The first ``chars`` characters of a text, with three dots after a longer text is cut."""
    return text if len(text) <= chars else text[:chars] + "..."


def with_timestamp(record: Mapping[str, Json], at: datetime) -> dict[str, Json]:
    """FailsafeNode's or Confidence Guardrail's record with its timestamp, ISO 8601."""
    return {**record, "timestamp": at.isoformat()}


def chained_assessment(first: Assessment, found: Assessment) -> Assessment:
    """The assessment of the following policy, with the record of the first policy, which the draft passed."""
    design = first.policy.partition("@")[0]
    return replace(
        found,
        passed_checks=(design, *found.passed_checks),
        signals={**first.signals, **found.signals},
        diagnostics={**found.diagnostics, design: dict(first.diagnostics)},
    )


def with_suggestions(found: Assessment, *, query: str, passages: Sequence[Passage]) -> Assessment:
    """The assessment of an unsent draft with the topics of the question that no passage contains."""
    if found.action in (Action.SEND, Action.RECHECK) or found.learning_suggestions:
        return found
    context = "\n\n".join(passage.text for passage in passages)
    topics = unknown_topics(encodable_text(query), encodable_text(context))
    return replace(found, learning_suggestions=topics)


def disabled_assessment(design: str, policy: Policy) -> Assessment:
    """The assessment when the account has switched its policy off: the draft is sent."""
    text = "Assessment is switched off for this account; nothing was checked."
    return _sent(design, policy, "disabled", text)


def in_test_mode(found: Assessment) -> Assessment:
    """The assessment in test mode: the draft is sent, ``intended_action`` is the action it would have had."""
    note = f"Test mode: the draft is sent; without test mode the action would be: {found.action}."
    return replace(
        found,
        action=Action.SEND,
        intended_action=found.action,
        explanation=f"{found.explanation} {note}".strip(),
    )


def unusable_assessment(design: str, policy: Policy, reason: UnusableReason) -> Assessment:
    """The assessment of a draft that cannot be assessed: neither the draft nor a fallback text is sent."""
    action = Action.SILENCE if policy.low_action is Action.FALLBACK else policy.low_action
    text = f"The draft cannot be assessed ({reason.value}), so it is not sent."
    found = _unsent(design, policy, reason, action, text)
    return replace(found, reasons=(f"the draft cannot be assessed: {reason.value}",))


def unchecked_assessment(design: str, policy: Policy, kind: ReplyKind) -> Assessment:
    """The assessment of a draft that states no fact."""
    text = "The draft states no fact, so there is nothing to check against the evidence."
    reasons = (f"the draft is a {kind.value.replace('_', ' ')} and states no fact",)
    return replace(_sent(design, policy, kind, text), passed_checks=("gate",), reasons=reasons)


def promise_assessment(design: str, policy: Policy, sentence: str) -> Assessment:
    """The assessment of a draft that promises what is not performed: people take over under any policy."""
    text = "The draft promises a handoff or an action that is not performed. Action: escalate."
    found = _unsent(design, policy, ReplyKind.PROMISE, Action.ESCALATE, text)
    shown = draft_preview(sentence, 200)
    return replace(found, reasons=(f"the draft promises an action that is not performed: {shown}",))


def non_answer_assessment(design: str, policy: Policy, fallback_text: str | None) -> Assessment:
    """The assessment of a non-answer, which may be true but does not help the author."""
    text = f"The draft says that it has no answer. Action: {policy.low_action}."
    return replace(
        _unsent(design, policy, ReplyKind.REFUSAL, policy.low_action, text),
        reasons=("the draft says that it has no answer",),
        fallback_text=fallback_text if policy.low_action is Action.FALLBACK else None,
    )


def _sent(design: str, policy: Policy, category: str, explanation: str) -> Assessment:
    """A draft that is sent without a measurement."""
    return Assessment(
        policy=policy_name(design, policy.version),
        confidence=1.0,
        tier=Tier.HIGH,
        action=Action.SEND,
        category=category,
        explanation=explanation,
        measured=False,
    )


def _unsent(design: str, policy: Policy, category: str, action: Action, explanation: str) -> Assessment:
    """A draft that is not sent, without a measurement."""
    return Assessment(
        policy=policy_name(design, policy.version),
        confidence=0.0,
        tier=Tier.LOW,
        action=action,
        category=category,
        failed_checks=(category,),
        explanation=explanation,
        measured=False,
    )
