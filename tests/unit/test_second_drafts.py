"""A second draft by another model or prompt, and several models that are asked at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.fakes import CLEAN, FakeModel
from tests.support.samples import account, event, passage, scores
from tests.unit.test_pipeline import ANSWER, BUSY, ESCALATE, OTHER, SENT, World
from worker.errors import ModelUnavailable
from worker.model import Completion, Decision, Tokens
from worker.reasons import Reason
from worker.snapshot import snapshot_json

FAILSAFE: dict[str, Any] = {"name": "failsafe", "judge_below": 0}
RETRY = {"below": 0.95, "model": "strong"}
DOUBTFUL = replace(ANSWER, text="Maybe we are possibly open from nine to six on weekdays, I think.")
BETTER = Completion(
    text="We are open from nine to six on weekdays [1], as our opening hours say.",
    model="big",
    tokens=Tokens(prompt=20, completion=5),
)
BETTER_SENT = "We are open from nine to six on weekdays, as our opening hours say."


async def decided(first: Completion, second: Any, *, rule: dict[str, Any] = RETRY, **policy: Any) -> Decision:
    world = World(model=[first])
    world.models = {"strong": FakeModel([second])}
    return await world.decide(owner=account(assessment_policy={**FAILSAFE, "retry_with": rule, **policy}))


async def test_a_draft_of_low_confidence_is_made_once_more_by_the_other_model() -> None:
    """The better draft is sent under its own model; the tokens of both are audited."""
    decision = await decided(DOUBTFUL, BETTER)
    kept = snapshot_json(decision)

    assert (decision.reason_code, decision.reply) == (Reason.REPLIED, BETTER_SENT)
    assert decision.models["completion"] == "big"
    assert kept["tokens_by_model"] == {
        "m": {"prompt": 7, "completion": 3},
        "big": {"prompt": 20, "completion": 5},
    }
    assert decision.tokens == Tokens(prompt=27, completion=8)
    assert kept["assessment"]["diagnostics"]["retried_with"] == {
        "model": "strong", "own_prompt": False, "below": 0.95, "before": pytest.approx(0.7),
        "after": 1.0, "used": True,
    }  # fmt: skip
    assert "A second draft by the model strong was asked for because 0.70 is below 0.95" in decision.reason


@pytest.mark.parametrize("second", [DOUBTFUL, BUSY, ESCALATE])
async def test_a_second_draft_that_is_missing_or_not_better_changes_nothing(second: Any) -> None:
    """The first one ends as it would have, and the audit says so."""
    alone = await World(model=[DOUBTFUL]).decide(owner=account(assessment_policy=FAILSAFE))
    decision = await decided(DOUBTFUL, second)
    record = snapshot_json(decision)["assessment"]["diagnostics"]["retried_with"]

    assert (decision.reason_code, decision.reply) == (alone.reason_code, alone.reply)
    assert decision.models["completion"] == "m"
    assert (record["used"], record["after"] is None) == (False, second is not DOUBTFUL)


async def test_a_flagged_second_draft_is_dropped() -> None:
    """It is tested like the first one; the exchange is not quarantined for it."""
    world = World(model=[DOUBTFUL], moderation=[scores(()), scores(()), scores(("hate",), hate=0.9)])
    world.models = {"strong": FakeModel([BETTER])}
    decision = await world.decide(owner=account(assessment_policy={**FAILSAFE, "retry_with": RETRY}))

    assert (decision.reply == BETTER_SENT, decision.quarantine) == (False, False)


@pytest.mark.parametrize(
    ("first", "options"),
    [
        (BETTER, {}),
        (DOUBTFUL, {"retry_with": None}),
        (DOUBTFUL, {"enabled": False}),
        (DOUBTFUL, {"test_mode": True}),
    ],
)
async def test_no_second_draft_is_paid(first: Completion, options: dict[str, Any]) -> None:
    """Not for a trusted draft, without the rule, without an assessment, and in test mode."""
    world = World(model=[first])
    world.models = {"strong": FakeModel([BETTER])}
    policy = {**FAILSAFE, "retry_with": RETRY, **options}
    await world.decide(owner=account(assessment_policy=policy))

    assert (len(world.model.asked), len(world.models["strong"].asked)) == (1, 0)


async def test_a_second_draft_may_have_a_prompt_of_its_own() -> None:
    """By the same model; the account's own prompt stays for the first one."""
    world = World(model=[DOUBTFUL, BETTER])
    rule = {"below": 0.95, "prompt": "State only what a passage says."}
    policy = {**FAILSAFE, "retry_with": rule}
    decision = await world.decide(owner=account(assessment_policy=policy, prompt="Be kind."))
    first, second = (each.system for each in world.model.asked)

    assert ("Be kind." in first, "Be kind." in second) == (True, False)
    assert "State only what a passage says." in second
    assert decision.reply == BETTER_SENT
    assert "with a prompt of its own" in decision.reason


async def test_a_model_that_the_deployment_does_not_declare_is_asked_nothing() -> None:
    """The first draft ends as it would have."""
    decision = await World(model=[DOUBTFUL]).decide(
        owner=account(assessment_policy={**FAILSAFE, "retry_with": {"below": 0.95, "model": "gone"}})
    )

    assert snapshot_json(decision)["assessment"]["diagnostics"]["retried_with"]["after"] is None
    assert "by the model gone" in decision.reason


CONSENSUS = {"name": "consensus", "models": ["default", "strong", "small"]}
WRONG = Completion(text="We are open from ten to two at night [1].", model="little")


def cost(prompt: int, completion: int) -> dict[str, int]:
    return {"prompt_tokens": prompt, "completion_tokens": completion}


async def agreed(*scripts: Any, **policy: Any) -> Decision:
    world = World(model=[scripts[0]])
    named = zip(("strong", "small"), scripts[1:], strict=False)
    world.models = {name: FakeModel([each]) for name, each in named}
    return await world.decide(owner=account(assessment_policy=CONSENSUS | policy))


async def test_of_several_models_the_draft_that_the_others_confirm_is_sent() -> None:
    """Each model is asked once; the audit has what became of each, and the tokens of each."""
    decision = await agreed(WRONG, ANSWER, replace(OTHER, model="n", tokens=Tokens(prompt=1, completion=1)))
    kept = snapshot_json(decision)

    assert (decision.reason_code, decision.reply) == (Reason.REPLIED, SENT)
    assert decision.models["completion"] == "m"
    assert kept["assessment"]["diagnostics"]["models"] == [
        {"model": "default", "outcome": "draft", "answered_by": "little"} | cost(0, 0),
        {"model": "strong", "outcome": "central_draft", "answered_by": "m"} | cost(7, 3),
        {"model": "small", "outcome": "draft", "answered_by": "n"} | cost(1, 1),
    ]
    assert set(kept["tokens_by_model"]) == {"little", "m", "n"}
    assert "3 of 3 models gave a draft" in decision.reason


async def test_models_that_disagree_send_nothing() -> None:
    """Two drafts with nothing in common."""
    other = Completion(text="Parcels travel by rail from Hamburg to Munich.", model="n")
    decision = await agreed(ANSWER, other, models=["default", "strong"])

    assert (decision.reason_code, decision.reply) == (Reason.LOW_CONFIDENCE_ESCALATED, None)
    assert "disagreement" in decision.reason


@pytest.mark.parametrize("failure", [BUSY, ESCALATE, ModelUnavailable("empty", kind="empty")])
async def test_one_model_may_fail(failure: Any) -> None:
    """With ``min_drafts`` others the rest decides; an outage marks the decision as degraded."""
    decision = await agreed(ANSWER, failure, OTHER)
    outcomes = [each["outcome"] for each in snapshot_json(decision)["assessment"]["diagnostics"]["models"]]

    assert decision.reason_code == Reason.REPLIED
    assert outcomes[1] == ("MODEL_ESCALATED" if failure is ESCALATE else "LLM_ERROR")
    assert decision.degraded is (failure is not ESCALATE)


async def test_too_few_drafts_send_nothing() -> None:
    """One of three answers; of equal endings the first model's counts."""
    one = await agreed(ANSWER, BUSY, BUSY)
    none = await agreed(BUSY, BUSY, BUSY)

    assert (one.reason_code, "too_few_drafts" in one.reason) == (Reason.LOW_CONFIDENCE_ESCALATED, True)
    assert (none.reason_code, none.reply) == (Reason.LLM_ERROR, None)


FLAGGED = scores(("hate",), hate=0.9)


@pytest.mark.parametrize(
    ("scripts", "moderation", "reason"),
    [
        ((BUSY, ESCALATE, ESCALATE), [CLEAN], Reason.MODEL_ESCALATED),
        ((BUSY, ANSWER, OTHER), [CLEAN, FLAGGED], Reason.REPLY_MODERATION_FLAGGED),
        ((ESCALATE, BUSY, ANSWER), [CLEAN, FLAGGED], Reason.REPLY_MODERATION_FLAGGED),
    ],
)
async def test_without_a_draft_the_gravest_ending_counts(
    scripts: tuple[Any, ...], moderation: list[Any], reason: Reason
) -> None:
    """A flagged draft before a call for people, that before an outage, whichever model is named first."""
    world = World(model=[scripts[0]], moderation=moderation)
    world.models = {"strong": FakeModel([scripts[1]]), "small": FakeModel([scripts[2]])}
    decision = await world.decide(owner=account(assessment_policy=CONSENSUS))

    assert decision.reason_code == reason
    assert decision.quarantine is (reason is Reason.REPLY_MODERATION_FLAGGED)
    assert decision.degraded


async def test_models_that_the_deployment_does_not_declare_count_as_failed() -> None:
    """Without any declared one nothing is asked."""
    missing = await agreed(ANSWER, models=["default", "strong"])
    none = await agreed(ANSWER, models=["gone", "lost"])

    assert missing.reason_code == Reason.LOW_CONFIDENCE_ESCALATED
    assert (none.reason_code, none.degraded) == (Reason.LLM_REJECTED, True)
    assert "declares none of the models gone, lost" in none.reason


REFUSING = {"name": "safety", "min_total_context_length": 0, "min_retrieval_confidence": 0.99}


async def test_a_refusal_suggests_headings_of_the_documents() -> None:
    """Up to three, nearest first, each once; no model writes them (Safety Mechanism)."""
    titles = ("Shop › 2.1 Opening hours", "Shop › Opening hours", "scan.pdf", "Returns", "Gift cards", "Care")
    found = tuple(passage(number, title=title) for number, title in enumerate(titles))
    world = World(found=[found])
    decision = await world.decide(owner=account(assessment_policy={**REFUSING, "suggest_questions": True}))

    assert decision.reason_code == Reason.FALLBACK_SENT
    assert decision.reply == (
        "I don't know based on our documents.\n\n"
        "You could ask about:\n- Opening hours\n- Returns\n- Gift cards"
    )
    assert len(world.model.asked) == 0
    assert snapshot_json(decision)["assessment"]["diagnostics"]["suggested_questions"] == [
        "Opening hours", "Returns", "Gift cards",
    ]  # fmt: skip


async def test_headings_are_searched_when_the_passages_have_too_few() -> None:
    """Ten passages at any similarity; none of them is evidence of the refusal."""
    world = World(found=[(), (passage(1, title="Returns", similarity=0.01),)])
    decision = await world.decide(owner=account(assessment_policy={**REFUSING, "suggest_questions": True}))

    assert (decision.reply or "").endswith("You could ask about:\n- Returns")
    assert [limit for _, _, limit in world.retriever.asked] == [5, 10]
    assert decision.passages == ()


@pytest.mark.parametrize(
    ("options", "settings", "titles"),
    [
        ({}, {}, ("Returns",)),
        ({"suggest_questions": True}, {"flagged_keywords": ("returns",)}, ("Returns",)),
        ({"suggest_questions": True}, {}, ("scan.pdf", "2.1")),
        ({"suggest_questions": True}, {}, ("Sign in at evil.example", "Hi @everyone")),
        ({"suggest_questions": True, "fallback_levels": ["silence"]}, {}, ("Returns",)),
    ],
)
async def test_nothing_is_suggested(
    options: dict[str, Any], settings: dict[str, Any], titles: tuple[str, ...]
) -> None:
    """Without the option, for headings that a rule or a check stops, file names, with silence."""
    found = tuple(passage(number, title=title) for number, title in enumerate(titles))
    owner = account(assessment_policy=REFUSING | options, **settings)
    decision = await World(found=[found]).decide(event(), owner)

    assert "ask about" not in (decision.reply or "")


async def test_a_draft_that_may_be_sent_beats_a_more_confident_one_that_may_not() -> None:
    """A recognised category stops the second draft at any confidence."""
    first = replace(ANSWER, text="We are open on a limited number of days: weekdays from nine to six.")
    second = Completion(text="The request timed out: we are open from nine to six on weekdays.", model="big")
    decision = await decided(first, second)
    record = snapshot_json(decision)["assessment"]["diagnostics"]["retried_with"]

    assert (decision.reason_code, decision.models["completion"]) == (Reason.REPLIED, "m")
    assert (record["before"] < record["after"], record["used"]) == (True, False)


async def test_a_second_draft_of_medium_confidence_is_not_rechecked() -> None:
    """The recheck comes before it and happens once (Confidence Guardrail)."""
    world = World(model=[ANSWER], judge=[0.5, 0.5, 0.6])
    world.models = {"strong": FakeModel([BETTER])}
    policy = {"name": "guardrail", "retry_with": RETRY}
    decision = await world.decide(owner=account(assessment_policy=policy))
    kept = snapshot_json(decision)["assessment"]

    assert (decision.reply, kept["tier"], kept["action"]) == (BETTER_SENT, "medium", "send")
    assert (len(world.model.asked), len(world.models["strong"].asked)) == (2, 1)
