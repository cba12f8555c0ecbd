"""The calibrated policy: thresholds, the judge for undecided drafts, vetoes, refusals before generation."""

from __future__ import annotations

from dataclasses import replace

import pytest
from worker.assessment.judge import Aspect

from tests.unit.assessment.samples import (
    RETURNS,
    ScriptedJudge,
    asked,
    assessed,
    evidence,
    questions_of,
)
from worker.assessment import (
    Evidence,
    NeedsJudge,
    assess_without_judge,
    assessment_from_answers,
    early_refusal,
    read_answer,
    unavailable_answer,
)
from worker.assessment.policies.calibrated_policy import CalibratedPolicy, JudgeUnit
from worker.model import Action, Tier

POLICY = CalibratedPolicy()
COVERED = "You can return any item within 30 days of delivery [1]."
INVENTED = (
    "You can return any item within 90 days. Members also receive a free bicycle, a birthday cake and "
    "unlimited helicopter rides across Patagonia. Our founder Zaphod personally signs each voucher."
)
UNDECIDED = "You can return any item within 30 days of delivery. Vouchers are valid forever."


def test_a_covered_reply_is_sent_without_a_judge() -> None:
    """Every fact occurs in the passage: sent by the signals only."""
    found = assessed(COVERED, POLICY)

    assert questions_of(COVERED, POLICY) == ()
    assert (found.tier, found.action, found.policy) == (Tier.HIGH, Action.SEND, "calibrated@2")
    assert found.confidence > 0.9


def test_an_invented_reply_is_refused_without_a_judge() -> None:
    """Nothing of it occurs in the passage: not worth a judge."""
    found = assessed(INVENTED, POLICY)

    assert questions_of(INVENTED, POLICY) == ()
    assert (found.tier, found.action, found.category) == (Tier.LOW, Action.ESCALATE, "ungrounded")
    assert "numbers of the draft do not occur in the passages" in found.reasons


def test_an_undecided_reply_is_put_to_the_judge_sentence_by_sentence() -> None:
    """One question a sentence, each with the passages."""
    asked = questions_of(UNDECIDED, POLICY)

    assert [q.claim for q in asked] == [
        "You can return any item within 30 days of delivery.",
        "Vouchers are valid forever.",
    ]
    assert {q.aspect for q in asked} == {Aspect.SENTENCE}
    assert all(RETURNS in q.context for q in asked)


def test_only_the_least_covered_sentences_are_judged() -> None:
    """A long reply costs a bounded number of calls."""
    asked = questions_of(UNDECIDED, CalibratedPolicy(judge_sentences=1))

    assert [q.claim for q in asked] == ["Vouchers are valid forever."]


def test_a_reply_may_be_judged_whole() -> None:
    """Detectors of whole replies take one question."""
    asked = questions_of(UNDECIDED, CalibratedPolicy(judge_unit=JudgeUnit.REPLY))

    assert [(q.aspect, q.claim) for q in asked] == [(Aspect.GROUNDING, UNDECIDED)]


@pytest.mark.parametrize(
    ("score", "tier", "action"),
    [(0.9, Tier.HIGH, Action.SEND), (0.5, Tier.HIGH, Action.SEND), (0.49, Tier.LOW, Action.ESCALATE)],
)
async def test_the_judges_lowest_score_decides(score: float, tier: Tier, action: Action) -> None:
    """From judge_accepts on the reply is sent."""
    found = await asked(
        query="Returns?", evidence=evidence(0.9), draft=UNDECIDED, policy=POLICY, judge=ScriptedJudge(score)
    )

    assert (found.tier, found.action) == (tier, action)
    assert found.signals["judge_lowest"] == score


@pytest.mark.parametrize("action", [Action.ESCALATE, Action.SILENCE, Action.SEND, Action.FALLBACK])
async def test_what_becomes_of_an_unjudged_reply_is_the_accounts_choice(action: Action) -> None:
    """A judge that is down leaves the reply undecided, by name."""
    found = await asked(
        query="What is the return policy of this shop?",
        evidence=evidence(0.9),
        draft=UNDECIDED,
        policy=CalibratedPolicy(undecided_action=action),
        judge=ScriptedJudge(None),
    )

    assert (found.tier, found.category, found.action) == (Tier.MEDIUM, "judge_unavailable", action)
    assert (found.fallback_text is not None) is (action is Action.FALLBACK)


@pytest.mark.parametrize(
    ("answers", "action", "lowest"),
    [
        ((0.1, None), Action.ESCALATE, 0.1),
        ((None, 0.1), Action.ESCALATE, 0.1),
        ((0.9, None), Action.SEND, None),
        ((None, None), Action.SEND, None),
    ],
)
def test_a_question_without_a_score_never_hides_a_sentence_that_was_refused(
    answers: tuple[float | None, float | None], action: Action, lowest: float | None
) -> None:
    """One refused sentence refuses the draft, even if another sentence has no score."""
    look = assess_without_judge(
        query="Returns?",
        evidence=evidence(0.9),
        draft=UNDECIDED,
        policy=CalibratedPolicy(undecided_action=Action.SEND),
    )
    assert isinstance(look, NeedsJudge)
    found = assessment_from_answers(
        look, [unavailable_answer("down") if each is None else read_answer(each) for each in answers]
    )

    assert (found.action, found.signals.get("judge_lowest")) == (action, lowest)


@pytest.mark.parametrize(
    "draft",
    ["You can return any item within 31 days of delivery.", f"{COVERED} Vouchers never expire."],
)
def test_a_bare_number_or_sentence_is_never_sent_unread(draft: str) -> None:
    """However well the rest is covered and however low the threshold."""
    found = questions_of(draft, CalibratedPolicy(send_at=0.0, reject_below=0.0))

    assert found != ()


def test_an_account_may_require_citations() -> None:
    """A covered reply that cites nothing is undecided then."""
    strict = CalibratedPolicy(require_citations=True)

    assert questions_of(COVERED, strict) == ()
    assert questions_of(COVERED.removesuffix(" [1].") + ".", strict) != ()


@pytest.mark.parametrize(
    ("draft", "languages", "category"),
    [
        (
            "Puede devolver cualquier artículo en un plazo de 30 días tras la entrega.",
            ("en", "es"),
            "wrong_language",
        ),
        ("Вы можете вернуть любой товар в течение 30 дней.", ("en", "es"), "wrong_language"),
        ("您可以在30天内退货。", ("en",), "wrong_language"),
        ("You can return any item within 30 days of delivery.", ("en", "es"), ""),
        ("OK", ("en", "es"), ""),
    ],
)
def test_a_reply_in_another_language_than_the_question_is_stopped(
    draft: str, languages: tuple[str, ...], category: str
) -> None:
    """Detected by the script, then among the configured languages; short replies count as right."""
    found = assessed(
        draft,
        POLICY,
        replace(evidence(0.9), languages=languages, query_language="en"),
        scores={Aspect.SENTENCE: 0.9},
    )

    assert found.category == category


def test_no_language_is_required_when_none_is_configured() -> None:
    """An account without configured languages has no language check."""
    found = assessed("您可以在30天内退货。", POLICY, scores={Aspect.SENTENCE: 0.9, Aspect.RELEVANCE: 0.9})

    assert found.category != "wrong_language"


def test_moderation_stops_a_covered_reply() -> None:
    """A moderation hit is a fact."""
    found = assessed(COVERED, POLICY, replace(evidence(0.9), moderation_hit="violence"))

    assert (found.category, found.confidence) == ("moderation_hit", 0.0)
    assert "moderation flagged the draft: violence" in found.reasons


def test_an_account_without_documents_can_say_so() -> None:
    """With require_evidence off, a reply without passages is judged, not stopped."""
    free = CalibratedPolicy(require_evidence=False)

    assert early_refusal(query="Returns?", evidence=Evidence(), policy=free) is None
    scores: dict[Aspect, str | float] = {Aspect.SENTENCE: 0.9, Aspect.RELEVANCE: 0.9}
    assert assessed("It is open.", free, Evidence(), scores=scores).category != "no_evidence"


def test_the_fallback_text_speaks_the_language_of_the_question() -> None:
    """Vietnamese asked, Vietnamese answered."""
    policy = CalibratedPolicy(low_action=Action.FALLBACK)
    found = assessed(INVENTED, policy, query="Chính sách đổi trả hàng của cửa hàng là gì vậy?")

    assert str(found.fallback_text).startswith("Tôi không tìm thấy")


def test_a_structured_context_has_its_own_coefficients() -> None:
    """JSON and key: value lines are records; an attribute that is off must not be affirmed."""
    record = (
        '{"name": "Blue Fig", "city": "Springfield", "hours": {"Monday": "11:0-21:0"}, "stars": 3.5, '
        '"attributes": {"OutdoorSeating": false, "WiFi": null, "RestaurantsTakeOut": true}}'
    )
    true = "Blue Fig in Springfield offers take out and is open from 11 AM to 9 PM on Monday."
    false = "Blue Fig in Springfield offers outdoor seating and is open from 10 AM to 9 PM on Monday."
    good = assessed(true, POLICY, evidence(0.9, text=record), query="", scores={Aspect.SENTENCE: 1.0})
    bad = assessed(false, POLICY, evidence(0.9, text=record), query="", scores={Aspect.SENTENCE: 1.0})

    assert good.diagnostics["evidence_kind"] == bad.diagnostics["evidence_kind"] == "records"
    assert (good.signals["affirmed_off"], good.signals["unsupported_times"]) == (0.0, 0.0)
    assert bad.signals["affirmed_off"] > 0.0
    assert bad.signals["unsupported_times"] > 0.0
    assert float(str(bad.diagnostics["cheap_confidence"])) < float(str(good.diagnostics["cheap_confidence"]))
