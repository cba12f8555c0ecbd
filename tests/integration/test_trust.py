"""Retrieval, recheck, fallback and escalation in the pipeline, on real servers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sandbox.server import SandboxHandle
from tests.integration.running import Running, eventually, running
from worker.policy import Reason

HOURS = {"Opening hours": ["We are open from nine to six on weekdays.", "On Sunday the shop is closed."]}
QUESTION = "When are you open on weekdays?"
GUARDRAIL = {"name": "guardrail", "initial_similarity": 0.0, "recheck_similarity": 0.0}


@pytest.fixture
def engine(database_url: str, redis_url: str, sandbox: SandboxHandle) -> Iterator[Running]:
    """A fresh engine."""
    with running(database_url, redis_url, sandbox) as each:
        yield each


def judge_says(engine: Running, *scores: float) -> None:
    """The judge's next answers, two for each assessment of the guardrail policy."""
    for score in reversed(scores):
        engine.sandbox.add_rule("judge", "score", value=str(score), times=2)


def test_a_medium_reply_is_rechecked_and_the_better_draft_goes_out(engine: Running) -> None:
    """Seed 001, use case 2: confidence before and after is audited."""
    judge_says(engine, 0.6, 1.0)
    user_id = engine.account(documents=HOURS, assessment_policy=GUARDRAIL)
    row = engine.decide(user_id, QUESTION)
    before, after = row["snapshot_json"]["rechecked"]

    assert row["reason_code"] == Reason.REPLIED
    assert 0.5 <= before < 0.8 <= after
    assert after == row["confidence"]
    assert row["snapshot_json"]["assessment"]["diagnostics"]["recheckCount"] == 1
    assert engine.sandbox.calls("chat") == 2


def test_a_recheck_that_does_not_improve_leaves_the_first_draft(engine: Running) -> None:
    """Seed 001, step 5: otherwise the original goes out."""
    judge_says(engine, 0.7, 0.5)
    user_id = engine.account(documents=HOURS, assessment_policy=GUARDRAIL)
    row = engine.decide(user_id, QUESTION)
    before, after = row["snapshot_json"]["rechecked"]

    assert ("respond", before) == (row["decision"], row["confidence"])
    assert after < before


def test_low_confidence_escalates_under_the_guardrail_policy(engine: Running) -> None:
    """Seed 001, use case 3."""
    judge_says(engine, 0.0)
    user_id = engine.account(documents=HOURS, assessment_policy=GUARDRAIL)
    row = engine.decide(user_id, QUESTION)

    assert (row["decision"], row["reason_code"]) == ("escalate", Reason.LOW_CONFIDENCE_ESCALATED)
    assert row["confidence"] < 0.5


def test_low_confidence_with_escalation_off_sends_the_fallback_message(engine: Running) -> None:
    """Seed 001: enableEscalation false sends the configured message instead of the draft."""
    judge_says(engine, 0.0)
    policy = GUARDRAIL | {"enableEscalation": False, "fallbackMessage": "Let me ask a colleague."}
    user_id = engine.account(documents=HOURS, assessment_policy=policy)
    row = engine.decide(user_id, QUESTION)
    reply = eventually(lambda: engine.reply(user_id, row["event_id"]), "a reply")

    assert row["reason_code"] == Reason.FALLBACK_SENT
    assert reply["text"] == "Let me ask a colleague."


def test_a_judge_that_is_down_is_unavailable_and_never_a_score(engine: Running) -> None:
    """Under the guardrail policy nothing goes out without a grounding score."""
    engine.sandbox.add_rule("judge", "500")
    user_id = engine.account(documents=HOURS, assessment_policy=GUARDRAIL)
    row = engine.decide(user_id, QUESTION)
    judged = [a for a in row["snapshot_json"]["attempts"] if a["stage"] == "judge"]

    assert row["decision"] == "escalate"
    assert {"server_error"} == {attempt["outcome"] for attempt in judged}
    assert row["snapshot_json"]["assessment"]["diagnostics"]["confidenceBreakdown"]["grounding"] is None


@pytest.mark.parametrize("name", ["calibrated", "failsafe", "guardrail", "validators", "safety"])
def test_every_policy_can_be_chosen_and_names_itself_in_the_audit(engine: Running, name: str) -> None:
    """An account's choice judges its replies."""
    user_id = engine.account(documents=HOURS, assessment_policy={"name": name})
    row = engine.decide(user_id, QUESTION)

    assert row["snapshot_json"]["assessment"]["policy"].startswith(f"{name}@")


def test_labels_of_an_event_restrict_which_documents_answer(engine: Running) -> None:
    """No document carries the label, so there is nothing to answer from."""
    user_id = engine.account(documents=HOURS)
    row = engine.decide(user_id, QUESTION, metadata={"labels": {"shop": "north"}})

    assert row["snapshot_json"]["passages"] == []
    assert row["decision"] == "escalate"


def test_the_passages_of_a_reply_are_in_its_snapshot(engine: Running) -> None:
    """Ids, titles and similarities of what the draft may rest on."""
    user_id = engine.account(documents=HOURS)
    passages = engine.decide(user_id, QUESTION)["snapshot_json"]["passages"]

    assert {"Opening hours"} == {passage["title"] for passage in passages}
    assert all(0 <= passage["similarity"] <= 1 for passage in passages)
