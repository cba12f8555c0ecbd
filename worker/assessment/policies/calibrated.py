"""Policy ``calibrated``, Hushgate's own: one reading by a judge that code checks, or verbatim evidence.

A draft is sent when its passages support it *and* it answers what was asked. Only verbatim evidence approves
without a reader; only a reader or a hard fact refuses; without a reader the draft waits for a person.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from worker.assessment.non_answers import is_non_answer
from worker.assessment.policies.design import Design, MeasuredLimit
from worker.assessment.policies.outcomes import check_policy, non_answer_assessment, policy_name
from worker.assessment.policies.shortfalls import Shortfall, found_shortfalls, shortfall_reasons
from worker.assessment.policies.texts import texts
from worker.assessment.policies.vetoes import VETO_REASONS, Veto, vetoes
from worker.assessment.reading.asking import NOTHING, DraftReading, Wanted, reading_request
from worker.assessment.reading.checked import CheckedReading
from worker.assessment.reading.courtesies import has_no_figures
from worker.assessment.reading.verbatim import is_verbatim
from worker.assessment.text.citations import cited_numbers
from worker.assessment.text.language import author_language, text_in_language
from worker.assessment.values import DraftCase, ReplyKind
from worker.model import Action, Assessment, Tier

VERBATIM_CONFIDENCE: Final = 0.99
"""Of 618 invented answers of two sets of conversations none is verbatim (``docs/confidence.md``)."""
LEAST_CHARS: Final = 30
"""A shorter draft, such as "I do not know.", declines nothing, and no judge is paid for it."""
NOTHING_STORED: Final = "the account has no documents"
FALLBACKS = texts("calibrated_fallbacks")


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibratedPolicy:
    """The configuration of ``calibrated``.

    Attributes:
        gate: whether small talk and clarifying questions pass without a fact check.
        require_evidence: whether a factual draft without any passage is stopped; an account without documents
            must set it to False.
        require_citations: whether a draft without any citation is refused.
        check_relevance: whether a draft must answer the question; False measures support only.
        send_at: 0..1, lowest confidence that is sent. 0.5: more likely right than wrong by the judge's own
            probability; reviews move it (``docs/confidence.md``).
        undecided_action: the action for a draft that no judge has read and that is not verbatim.
        low_action: the action for a draft of low confidence.
        fallbacks: language -> text for the action ``fallback``.
    """

    version: int = 3
    enabled: bool = True
    test_mode: bool = False
    gate: bool = True
    require_evidence: bool = True
    require_citations: bool = False
    check_relevance: bool = True
    send_at: float = 0.5
    undecided_action: Action = Action.HOLD
    low_action: Action = Action.ESCALATE
    fallbacks: Mapping[str, str] = field(default_factory=lambda: dict(FALLBACKS))

    def __post_init__(self) -> None:
        check_policy(self, shares=("send_at",))
        if self.undecided_action is Action.RECHECK:
            raise ValueError(
                "undecided_action: expected send, hold, fallback, escalate or silence, got recheck"
            )


def early_refusal(case: DraftCase, policy: CalibratedPolicy) -> Assessment | None:
    """The refusal before generation: only for an account without any document, where no search can help."""
    if not policy.require_evidence or case.evidence.documents_stored or case.context.strip():
        return None
    return _decided(
        case,
        policy,
        action=policy.low_action,
        tier=Tier.LOW,
        failed=(Veto.NO_EVIDENCE,),
        reasons=(NOTHING_STORED,),
        explanation=f"Nothing to answer from ({NOTHING_STORED}), so no model was asked.",
    )


def wanted(case: DraftCase, policy: CalibratedPolicy) -> Wanted:
    """Always the verdicts; nothing for a draft that facts alone decide."""
    found = settled(case, policy)
    return Wanted(verdicts=found is None or _may_need_no_answer(case, found))


def _may_need_no_answer(case: DraftCase, found: Assessment) -> bool:
    """Whether a draft without an answer or a passage may be right: it asks back, thanks or declines."""
    bare = found.failed_checks == (ReplyKind.REFUSAL,) and len(case.draft) < LEAST_CHARS
    if bare or found.failed_checks not in ((ReplyKind.REFUSAL,), (Veto.NO_EVIDENCE,)):
        return False
    sentences = reading_request(case, NOTHING).sentences
    draft = " ".join(sentences)
    return all(has_no_figures(each, draft=draft, asked=case.query) for each in sentences)


def settled(case: DraftCase, policy: CalibratedPolicy) -> Assessment | None:
    """The assessment where no reading is needed: a non-answer or a hard fact."""
    if not case.evidence.moderation_hit and is_non_answer(case.draft):
        return non_answer_assessment(
            "calibrated", policy, text_in_language(policy.fallbacks, author_language(case))
        )
    if stopped := vetoes(case, require_evidence=policy.require_evidence):
        return _decided(
            case,
            policy,
            action=policy.low_action,
            tier=Tier.LOW,
            failed=stopped,
            reasons=tuple(VETO_REASONS[veto] for veto in stopped),
            explanation=f"Stopped by: {', '.join(stopped)}. Action: {policy.low_action}.",
        )
    return None


def _verbatim(case: DraftCase, policy: CalibratedPolicy) -> bool:
    """Whether evidence stands in for a reader; the words of a follow-up do not say what was asked."""
    sentences = reading_request(case, Wanted(verdicts=True)).sentences
    alone = not case.evidence.history and not _lacks_citations(case, policy)
    return alone and is_verbatim(case.query, sentences, case.titled_passages)


def assessment(case: DraftCase, policy: CalibratedPolicy, reading: DraftReading | None) -> Assessment:
    """The assessment after the judge was asked."""
    checked = reading.checked if reading else None
    if (found := settled(case, policy)) is not None:
        lifted = checked is not None and checked.needs_none and _may_need_no_answer(case, found)
        if not lifted:
            return found
    if reading is None:
        raise ValueError("reading: expected one for a draft that facts do not decide, got none")
    if checked is None:
        return _unread(case, policy, reading)
    return _read(case, policy, checked)


def _read(case: DraftCase, policy: CalibratedPolicy, checked: CheckedReading) -> Assessment:
    confidence = checked.support * (checked.relevance if policy.check_relevance else 1.0)
    uncited = (Shortfall.UNCITED,) if _lacks_citations(case, policy) else ()
    short = (
        *found_shortfalls(checked, send_at=policy.send_at, check_relevance=policy.check_relevance),
        *uncited,
    )
    sent = confidence >= policy.send_at and not short
    failed = short if short or sent else (Shortfall.UNSURE,)
    action = Action.SEND if sent else policy.low_action
    return _decided(
        case,
        policy,
        action=action,
        tier=Tier.HIGH if sent else Tier.LOW,
        confidence=confidence,
        failed=failed,
        passed=(*Veto, *(each for each in Shortfall.of_readings() if each not in failed)),
        reasons=shortfall_reasons(checked, failed),
        explanation=_explanation(checked, policy, confidence, failed, action),
        checked=checked,
    )


def _unread(case: DraftCase, policy: CalibratedPolicy, reading: DraftReading) -> Assessment:
    """The assessment of a draft that no judge has read: sent where it is verbatim, else not measured."""
    reason = reading.reason
    if _verbatim(case, policy):
        return _decided(
            case,
            policy,
            action=Action.SEND,
            tier=Tier.HIGH,
            confidence=VERBATIM_CONFIDENCE,
            passed=("verbatim", *Veto),
            reasons=("the draft is copied from a passage in the words of the question", reason),
            explanation="No judge read the draft; it is copied from a passage, in the words of the question."
            " Action: send.",
        )
    found = _decided(
        case,
        policy,
        action=policy.undecided_action,
        tier=Tier.MEDIUM,
        failed=(reading.outcome,),
        reasons=(reason,),
        explanation=f"{reason[0].upper()}{reason[1:]}. Action: {policy.undecided_action}.",
    )
    return replace(found, measured=False)


def _lacks_citations(case: DraftCase, policy: CalibratedPolicy) -> bool:
    return policy.require_citations and not cited_numbers(case.draft)


def _explanation(
    checked: CheckedReading,
    policy: CalibratedPolicy,
    confidence: float,
    failed: Sequence[str],
    action: Action,
) -> str:
    parts = [f"After the checks of the judge's reading: support {checked.support:.2f}"]
    parts[0] += f", relevance {checked.relevance:.2f}" if policy.check_relevance else ""
    parts[0] += f", confidence {confidence:.2f} (sent from {policy.send_at:.2f})."
    if failed:
        parts.append(f"Stopped by: {', '.join(failed)}.")
    return " ".join([*parts, f"Action: {action}."])


def _decided(
    case: DraftCase,
    policy: CalibratedPolicy,
    *,
    action: Action,
    tier: Tier,
    reasons: tuple[str, ...],
    explanation: str,
    confidence: float = 0.0,
    failed: Sequence[str] = (),
    passed: Sequence[str] = (),
    checked: CheckedReading | None = None,
) -> Assessment:
    """An assessment of this policy; what a judge read stands beside it."""
    fallback = None
    if action is Action.FALLBACK:
        fallback = text_in_language(policy.fallbacks, author_language(case))
    return Assessment(
        policy=policy_name("calibrated", policy.version),
        confidence=round(confidence, 6),
        tier=tier,
        action=action,
        category=failed[0] if failed else "",
        passed_checks=tuple(passed),
        failed_checks=tuple(failed),
        reasons=reasons,
        explanation=explanation,
        fallback_text=fallback,
        support=checked.support if checked else (confidence or None),
        relevance=checked.relevance if checked and policy.check_relevance else None,
        sentences=checked.sentences if checked else (),
        left_out=checked.left_out if checked else "",
        diagnostics={"send_at": policy.send_at},
    )


READ_LIMITS: Final = (
    MeasuredLimit(measure="support", value="support", threshold="send_at", effect="sent"),
    MeasuredLimit(
        measure="relevance", value="relevance", threshold="send_at", effect="sent", category="irrelevant"
    ),
)
"""What a judge read, the half that stopped the draft first."""
DESIGN: Final = Design(
    name="calibrated",
    summary="a measured probability that the passages support the reply; the default",
    settings=CalibratedPolicy,
    assess=assessment,
    wanted=wanted,
    early_refusal=early_refusal,
    limits=READ_LIMITS,
    thresholds=("send_at",),
    main_threshold="send_at",
)
