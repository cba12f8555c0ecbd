"""The confidence in a draft and the action that follows: the flow of assessment on one screen.

::

    early_refusal(query, evidence, policy)              before generation: is there anything to answer from?
    found = await assess(query, evidence, draft, policy, judge)
        without_checks(case, policy)                    switched off, unusable, or states no fact
        wanted = what the design, the design after it and a sentence like a promise want a judge to read
        reading = await read_draft(judge, case, wanted) one call, checked by code; none if nothing is wanted
        assessed(case, policy, reading)                 the design's assessment
    if found.assessment.action == "recheck": search and generate again, then better_assessment(before, after)

All functions are pure except :func:`assess`, which calls the judge it is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from worker.assessment.gate import needs_no_answer, needs_no_evidence, unchecked_kind, unusable_reason
from worker.assessment.policies.agreement import most_central
from worker.assessment.policies.consensus import DEFAULT_MODEL
from worker.assessment.policies.delivery import Delivery, FallbackLevel, RetryWith
from worker.assessment.policies.designs import (
    checks_labels,
    default_policy,
    design_name,
    design_of,
    drafting_models,
    following_policy,
    initial_search,
    log_entry,
    parse_delivery,
    parse_policy,
    recheck_search,
    usable_policy,
)
from worker.assessment.policies.guardrail import with_recheck
from worker.assessment.policies.outcomes import (
    Policy,
    chained_assessment,
    disabled_assessment,
    in_test_mode,
    promise_assessment,
    unchecked_assessment,
    unusable_assessment,
    with_suggestions,
    with_timestamp,
)
from worker.assessment.policies.partial import SupportedPart, supported_part
from worker.assessment.policies.thresholds import thresholds_of, with_thresholds
from worker.assessment.promises import promises_of, says_done
from worker.assessment.reading.asking import DraftReading, Judge, Wanted, read_draft
from worker.assessment.reading.model import ReadingOutcome, ReadingRequest
from worker.assessment.text.acknowledgements import is_finished_question
from worker.assessment.text.citation_removal import cited_sources, delivered_text, renumbered
from worker.assessment.text.citations import without_citations, without_sentences
from worker.assessment.text.language import text_for_author
from worker.assessment.text.once import TextsReadOnce
from worker.assessment.text.words import encodable_text
from worker.assessment.values import DraftCase, Evidence, ReplyKind, RunFailure, SearchBounds, UnusableReason
from worker.model import Action, Assessment, Message, Passage

BORNE_OUT_AT: Final = 0.5
"""Support from which a sentence like a promise counts as a rule of the passages: more likely than not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedAssessment:
    """An assessment and the judge's reading behind it, if the policy wanted a reading."""

    assessment: Assessment
    reading: DraftReading | None = None


async def assess(
    *,
    query: str,
    evidence: Evidence,
    draft: str,
    policy: Policy,
    judge: Judge | None,
    verdicts: bool = False,
) -> JudgedAssessment:
    """The assessment of ``draft``; the judge is asked once, for everything that is wanted.

    ``verdicts``: the account wants supported parts sent, which a reading of each sentence shows.
    """
    case = _case(query, evidence, draft)
    promises = promises_of(case)
    if (found := _without_checks(case, policy, promises)) is not None:
        return JudgedAssessment(assessment=found)
    wanted = wanted_readings(case, policy) | Wanted(verdicts=bool(promises and judge))
    if wanted and verdicts:
        wanted |= Wanted(verdicts=True)
    reading = await read_draft(judge, case, wanted) if wanted else None
    return JudgedAssessment(assessment=assessed(case, policy, reading, promises=promises), reading=reading)


def _case(query: str, evidence: Evidence, draft: str) -> DraftCase:
    """The case with texts that every library can encode."""

    def encodable_passage(passage: Passage) -> Passage:
        title, text = encodable_text(passage.title), encodable_text(passage.text)
        is_same = title == passage.title and text == passage.text
        return passage if is_same else replace(passage, title=title, text=text)

    def encodable_line(line: Message) -> Message:
        text = encodable_text(line.text)
        return line if text == line.text else replace(line, text=text)

    passages = tuple(map(encodable_passage, evidence.passages))
    history = tuple(map(encodable_line, evidence.history))
    if passages != evidence.passages or history != evidence.history:
        evidence = replace(evidence, passages=passages, history=history)
    return DraftCase(query=encodable_text(query), evidence=evidence, draft=encodable_text(draft))


def _without_checks(case: DraftCase, policy: Policy, promises: Sequence[str]) -> Assessment | None:
    """The assessment of a draft that no policy checks; None for a draft that states something."""
    design = design_name(policy)
    if not policy.enabled:
        return disabled_assessment(design, policy)
    if (reason := unusable_reason(case)) is not None:
        return unusable_assessment(design, policy, reason)
    if promises or not policy.gate or case.evidence.moderation_hit:
        return None
    kind = unchecked_kind(case)
    return None if kind is None else unchecked_assessment(design, policy, kind)


def wanted_readings(case: DraftCase, policy: Policy) -> Wanted:
    """What the design, and the design that follows it, want a judge to read."""
    wanted = design_of(policy).wanted(case, policy)
    following = following_policy(policy)
    return wanted | design_of(following).wanted(case, following) if following else wanted


def assessed(
    case: DraftCase, policy: Policy, reading: DraftReading | None, *, promises: Sequence[str] = ()
) -> Assessment:
    """The assessment with the reading that was wanted.

    A sentence like a promise that the judge does not bear out hands the conversation to people, unless the
    draft waits for a person anyway. A draft that passed a failsafe is assessed by the guardrail after it.
    """
    found = _by_design(case, policy, reading)
    if found.action is Action.HOLD:
        return found
    for promise in promises:
        if not _is_borne_out(promise, case, reading):
            promised = promise_assessment(design_name(policy), policy, promise)
            return replace(promised, sentences=found.sentences)
    return found


def _by_design(case: DraftCase, policy: Policy, reading: DraftReading | None) -> Assessment:
    found = design_of(policy).assess(case, policy, reading)
    following = following_policy(policy)
    if following is None or found.action is not Action.SEND:
        return found
    return chained_assessment(found, design_of(following).assess(case, following, reading))


def _is_borne_out(promise: str, case: DraftCase, reading: DraftReading | None) -> bool:
    """Whether a judge supports the sentence that reads like a promise, with a quote that stands."""
    if reading is None or reading.checked is None or says_done(promise):
        return False
    said = (
        each
        for each in reading.checked.sentences
        if promise in without_citations(case.draft[each.start : each.end])
    )
    return any(each.support is not None and each.support >= BORNE_OUT_AT for each in said)


def early_refusal(*, query: str, evidence: Evidence, policy: Policy) -> Assessment | None:
    """The refusal before generation when the evidence cannot answer; None when a draft should be generated.

    A greeting or thanks needs no evidence if the policy has a gate, because the reply will pass it. Without
    a gate the reply would be refused after its generation was paid for. In test mode nothing is refused.
    """
    case = _case(query, evidence, "")
    if not policy.enabled or policy.test_mode:  # in test mode the draft is generated and assessed
        return None
    if policy.gate and needs_no_evidence(case.query):
        return None
    return design_of(policy).early_refusal(case, policy)


def better_assessment(before: Assessment, after: Assessment) -> Assessment:
    """The assessment that counts after a recheck: the better of both (Guardrail, step 5).

    A second draft that a failsafe before the guardrail stopped is not better.
    """
    return after if after.policy == before.policy and after.confidence > before.confidence else before
