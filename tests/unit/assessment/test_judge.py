"""The judge port: how an answer is read, and that a failure is never a score."""

from __future__ import annotations

import pytest
from worker.assessment.judge import Aspect, JudgeQuestion, read_answer

from tests.unit.assessment.samples import ScriptedJudge, asked, evidence, unscored
from worker.assessment import default_policy


@pytest.mark.parametrize(
    ("raw", "outcome", "score"),
    [
        ("0.85", "scored", 0.85),
        (" 1.0\n", "scored", 1.0),
        ("0", "scored", 0.0),
        (0.5, "scored", 0.5),
        ('{"score": 0.7}', "scored", 0.7),
        ("yes", "judge_answer_is_a_word", None),
        (True, "judge_answer_is_a_word", None),
        ('{"score": true}', "judge_answer_is_a_word", None),
        ("I would say about 0.9, since most of it is covered.", "judge_answer_is_prose", None),
        ('{"verdict": "fine"}', "judge_answer_is_prose", None),
        ("{" * 100_000, "judge_answer_is_prose", None),
        ("", "judge_answer_empty", None),
        ("NaN", "judge_answer_is_not_a_number", None),
        (float("nan"), "judge_answer_is_not_a_number", None),
        ("7", "judge_answer_out_of_range", None),
        (-0.1, "judge_answer_out_of_range", None),
        ("inf", "judge_answer_out_of_range", None),
        ('{"score": ' + "9" * 400 + "}", "judge_answer_out_of_range", None),
    ],
)
def test_a_raw_answer_is_a_score_or_a_named_outcome(
    raw: str | float, outcome: str, score: float | None
) -> None:
    """Only a bare number within 0..1 is a score; everything else has a name."""
    assert unscored(read_answer(raw)) == (outcome, score)


@pytest.mark.parametrize("name", ["calibrated", "failsafe", "guardrail"])
@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (None, "judge_unavailable"),
        ("yes", "judge_answer_is_a_word"),
        ("It looks fine to me.", "judge_answer_is_prose"),
        ("NaN", "judge_answer_is_not_a_number"),
        ("7", "judge_answer_out_of_range"),
    ],
)
async def test_a_judge_that_gives_no_score_never_moves_the_confidence(
    name: str, answer: str | None, outcome: str
) -> None:
    """The outcome is named in the failed checks and the confidence is what it is without a judge."""
    draft = "I think items can maybe be returned within 90 days, partially."
    without = await asked(
        query="Returns?", evidence=evidence(0.9), draft=draft, policy=default_policy(name), judge=None
    )
    found = await asked(
        query="Returns?",
        evidence=evidence(0.9),
        draft=draft,
        policy=default_policy(name),
        judge=ScriptedJudge(answer),
    )

    assert found.confidence == without.confidence
    assert outcome in found.failed_checks


async def test_a_judge_reads_the_context_with_the_question() -> None:
    """The prompt contains query, numbered passages and claim, and asks for one number."""
    judge = ScriptedJudge(0.9)
    await asked(
        query="How long?",
        evidence=evidence(0.9),
        draft="It takes 90 days.",
        policy=default_policy("guardrail"),
        judge=judge,
    )
    prompt = judge.asked[0].prompt

    assert [question.aspect for question in judge.asked] == [Aspect.GROUNDING, Aspect.CERTAINTY]
    assert "How long?" in prompt.question
    assert "[1] Returns\nYou can return any item" in prompt.question
    assert "It takes 90 days." in prompt.question
    assert "one number between 0.0 and 1.0" in prompt.system


async def test_a_bug_in_a_judge_rises() -> None:
    """Only unavailable and rejected models are outcomes; anything else is a bug."""

    class Broken:
        async def judge(self, question: JudgeQuestion) -> float:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await asked(
            query="q",
            evidence=evidence(0.9),
            draft="It takes 90 days.",
            policy=default_policy("guardrail"),
            judge=Broken(),
        )
