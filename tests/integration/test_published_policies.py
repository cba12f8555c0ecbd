"""The published policies end to end: what goes out, and the record each document asks for."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

from structlog.testing import capture_logs

from db.account_settings import accounts
from db.pool import create_pool
from sandbox.server import SandboxHandle
from tests.integration.test_decision_page import read, visited
from tests.support.running import Running, eventually, running
from tests.support.terminal import Shell
from worker.account_settings import changed
from worker.reasons import Reason

HOURS = {"Opening hours": ["We are open from nine to six on weekdays.", "On Sunday the shop is closed."]}
QUESTION = "When are you open on weekdays?"


def test_the_environment_has_defaults_of_the_validators(
    database_url: str, redis_url: str, sandbox: SandboxHandle
) -> None:
    """ENABLE_VALIDATORS and VALIDATOR_EVIDENCE_THRESHOLD count unless the account sets its own."""
    environment = {"ENABLE_VALIDATORS": "false", "VALIDATOR_EVIDENCE_THRESHOLD": "1"}
    sandbox.add_rule("chat", "ungrounded")
    with running(database_url, redis_url, sandbox, **environment) as engine:
        plain = of(engine, {"name": "validators"})
        own = of(engine, {"name": "validators", "enabled": True})
        both = of(engine, {"name": "validators", "ENABLE_VALIDATORS": True, "evidence_threshold": 0.01})
    found = [row["snapshot_json"]["assessment"] for row in (plain, own, both)]

    assert [each["category"] == "disabled" for each in found] == [True, False, False]
    assert ["low_overlap" in each["failed_checks"] for each in found] == [False, True, False]


def of(engine: Running, policy: dict[str, Any], text: str = QUESTION, **more: Any) -> dict[str, Any]:
    """The audit row of a text under a policy, with its reply's text."""
    user_id = engine.account(documents=HOURS, assessment_policy=policy)
    row = engine.decide(user_id, text, **more)
    found = None
    if row["decision"] == "respond":
        found = eventually(lambda: engine.reply(user_id, row["event_id"]), "a reply")
    return row | {"said": found and found["text"]}


def test_the_ethics_validator_can_fail_in_a_worker(engine: Running) -> None:
    """Confidence Validation, EthicsAdapter: a cited reply that breaks a principle is replaced."""
    policy = {"name": "validators", "ethics_principles": {"no promises": ["nine to six"]}}
    row = of(engine, policy)
    found = row["snapshot_json"]["assessment"]

    assert (row["reason_code"], found["category"]) == (Reason.FALLBACK_SENT, "ethics")
    assert found["reasons"] == ["failed: ethics (no promises)"]
    assert found["diagnostics"]["reasons"] == ["ethics"]
    assert "nine" not in row["said"]


def test_the_reply_has_the_published_fields(engine: Running) -> None:
    """Confidence Validation, "ChatResponse Model": the three fields are on the reply stream."""
    engine.sandbox.add_rule("chat", "ungrounded")
    user_id = engine.account(assessment_policy={"name": "validators"})
    row = engine.decide(user_id, "Which planets have rings?")
    sent = eventually(lambda: engine.reply(user_id, row["event_id"]), "a reply")

    assert sent["assessment"] == {
        "confidence_score": 0.1,
        "validation_info": {
            "passed": False,
            "reasons": row["snapshot_json"]["assessment"]["diagnostics"]["reasons"],
            "used_fallback": True,
            "confidence_score": 0.1,
            "context_docs_count": 0,
        },
        "learning_suggestions": ["planets", "rings"],
    }
    assert (sent["ai_generated"], sent["policy"], sent["confidence"]) == (False, "validators@1", 0.1)


def test_every_policy_suggests_topics_when_nothing_is_sent(engine: Running) -> None:
    """The default policy refuses a question without evidence and names what the documents lack."""
    row = of(engine, {}, text="Which planets have rings?")

    assert row["reason_code"] == Reason.LOW_CONFIDENCE_ESCALATED
    assert row["snapshot_json"]["assessment"]["learning_suggestions"] == ["planets", "rings"]


LENIENT = {
    "name": "safety",
    "min_retrieval_confidence": 0,
    "min_similarity_score": 0,
    "min_total_context_length": 1,
}
"""Checks 1 and 2 by words alone, on short documents."""


def test_a_threshold_changed_at_run_time_judges_the_next_event(engine: Running) -> None:
    """FailsafeNode: configure_failsafe on a running worker, by `hushgate accounts set`."""
    user_id = engine.account(documents=HOURS, assessment_policy={"name": "failsafe"})
    first = engine.decide(user_id, QUESTION)
    changes = {"assessment_policy": {"name": "failsafe", "confidence_threshold": 1.0, "judge_below": 0}}
    version = asyncio.run(save_as_owner(engine.url, user_id, changes))
    later = eventually(
        lambda: (
            (row := engine.decide(user_id, QUESTION))["snapshot_json"]["rules_version"] == version and row
        ),
        "the new version",
    )
    assessed = [row["snapshot_json"]["assessment"]["explanation"] for row in (first, later)]

    assert "against a threshold of 0.70" in assessed[0]
    assert "against a threshold of 1.00" in assessed[1]


async def save_as_owner(url: str, user_id: str, changes: dict[str, Any]) -> int:
    """What `hushgate accounts set` does; the new version."""
    async with create_pool(url, size=1, application="test", role=None) as source:
        current = await accounts.current_account(source, user_id)
        return await accounts.store_account(source, changed(current, changes), changed_by="test")


def terminal(engine: Running, folder: Path) -> Shell:
    """A terminal on the engine's database."""
    environment = {
        "DATABASE_URL": engine.url,
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "OPENAI_API_KEY": "sandbox",
        "OPENROUTER_API_KEY": "sandbox",
        "HOME": str(folder),
    }
    return Shell(environment=environment, folder=folder)


def test_the_seven_metrics_can_be_asked_for(engine: Running, tmp_path: Path) -> None:
    """Confidence Validation, "New Metrics", over the audit, by `hushgate assess metrics`."""
    user_id = engine.account(documents=HOURS, assessment_policy={"name": "validators"})
    for _ in range(2):
        engine.decide(user_id, QUESTION)
    engine.sandbox.add_rule("chat", "ungrounded")
    engine.decide(user_id, "Which planets have rings?")
    shell = terminal(engine, tmp_path)
    asked = shell.run("assess", "metrics", "--account", user_id, "--since", "1h")
    unknown = shell.run("assess", "metrics", "--account", "unknown")
    later = shell.run("assess", "metrics", "--account", user_id, "--until", "1h")
    (row,) = asked.rows

    assert (unknown.rows, later.rows, asked.code) == ([], [], 0)
    assert (row["policy"], row["replies"], row["escalation_rate"]) == ("validators", 3, 0.0)
    assert (row["fallback_usage_count"], round(row["fallback_usage_rate"], 4)) == (1, 0.3333)
    assert (row["hallucination_prevented_count"], row["hallucination_reduction_rate"]) == (1, 1.0)
    assert (row["uncertainty_expressed_count"], row["uncertainty_expression_rate"]) == (0, 0.0)
    assert 0.1 < row["avg_confidence_score"] < 0.9


def test_what_confidence_guardrail_monitors_can_be_asked_for(engine: Running, tmp_path: Path) -> None:
    """Average confidence, recheck frequency, improvement rate and escalation rate."""
    policy = {"name": "guardrail", "initial_similarity": 0.0, "recheck_similarity": 0.0}
    user_id = engine.account(documents=HOURS, assessment_policy=policy)
    engine.sandbox.add_rule("judge", "score", value="1.0", times=1)
    engine.sandbox.add_rule("judge", "score", value="0.6", times=1)
    improved = engine.decide(user_id, QUESTION)
    engine.sandbox.drop_rules("judge")
    engine.sandbox.add_rule("judge", "score", value="0.0")
    engine.decide(user_id, QUESTION)
    shell = terminal(engine, tmp_path)
    (row,) = shell.run("assess", "metrics", "--account", user_id).rows
    before, after = improved["snapshot_json"]["rechecked"]

    assert before < after
    assert (row["replies"], row["recheck_rate"], row["improvement_rate"]) == (2, 0.5, 1.0)
    assert row["escalation_rate"] == 0.5
    assert "fallback_usage_count" not in row


def test_rejections_are_analysed_by_reason(engine: Running, tmp_path: Path) -> None:
    """Safety Mechanism's rejection analysis: count and share of each reason, early refusals included."""
    user_id = engine.account(documents=HOURS, assessment_policy=LENIENT)
    engine.decide(user_id, QUESTION)
    engine.decide(user_id, "Which planets have rings?")
    with capture_logs() as lines:
        row = engine.decide(user_id, "Which planets have moons?")
        (line,) = eventually(
            lambda: [each for each in lines if row["event_id"] == each.get("event_id") and "policy" in each],
            "the canonical line",
        )
    engine.decide(user_id, QUESTION, metadata={"labels": {"subject": "Mathematics"}})
    shell = terminal(engine, tmp_path)
    (row,) = shell.run("assess", "metrics", "--account", user_id).rows
    listed = shell.run("decisions", "list", "--account", user_id, "--rejection", "off_topic").rows
    shown = shell.on_terminal("assess", "metrics", "--account", user_id, columns=80).out

    logged = [line[name] for name in ("event", "policy", "category", "rejection_reason", "test_mode")]

    assert logged == [
        "event_decided", "safety@1", "insufficient_context", "insufficient_context", False,
    ]  # fmt: skip
    assert row["rejections_by_reason"] == {
        "insufficient_context": {"count": 2, "share": 2 / 3},
        "off_topic": {"count": 1, "share": 1 / 3},
    }
    assert (row["assessments"], row["rejections"], row["rejection_rate"]) == (4, 3, 0.75)
    assert (row["replies"], row["escalation_rate"]) == (1, 0.0)
    assert len(listed) == 1
    assert "rejected: insufficient_context" in shown
    assert "2 (67%)" in shown


def test_test_mode_sends_and_counts_what_it_would_reject(engine: Running, tmp_path: Path) -> None:
    """Confidence Guardrail, "Test Mode": by account; the figures say what escalation would change."""
    policy = {"name": "guardrail", "testMode": True, "initial_similarity": 0.0}
    user_id = engine.account(documents=HOURS, assessment_policy=policy)
    engine.sandbox.add_rule("judge", "score", value="0.0")
    row = engine.decide(user_id, QUESTION)
    shell = terminal(engine, tmp_path)
    (metrics,) = shell.run("assess", "metrics", "--account", user_id).rows
    shown = shell.on_terminal("decisions", "show", str(row["id"]), columns=120).out

    assert (row["reason_code"], row["rejection_reason"]) == (Reason.REPLIED, "low_confidence")
    assert row["confidence"] == row["snapshot_json"]["assessment"]["confidence"] < 0.5
    assert (metrics["test_mode_replies"], metrics["test_mode_held"]) == (1, 1)
    assert (metrics["escalation_rate"], metrics["avg_confidence_score"]) == (0.0, row["confidence"])
    assert re.search(r"intended action\s+escalate", shown)
    assert "without test mode the action would be: escalate" in " ".join(shown.split())


def test_confidence_is_known_by_conversation(engine: Running, tmp_path: Path) -> None:
    """Confidence Guardrail: average, rechecks and ``confidenceLog`` of a conversation, with its marks."""
    policy = {"name": "guardrail", "initial_similarity": 0.0, "recheck_similarity": 0.0}
    user_id = engine.account(documents=HOURS, assessment_policy=policy)
    engine.sandbox.add_rule("judge", "score", value="1.0", times=1)
    engine.sandbox.add_rule("judge", "score", value="0.6", times=1)
    better = engine.decide(user_id, QUESTION, conversation_id="talk")
    engine.sandbox.drop_rules("judge")
    engine.sandbox.add_rule("judge", "score", value="0.0")
    low = engine.decide(user_id, QUESTION, conversation_id="other")
    shell = terminal(engine, tmp_path)
    words = ("conversations", "confidence", "--account", user_id)
    both = shell.run(*words).rows
    (row,) = shell.run(*words, "--conversation", "talk").rows
    shown = shell.on_terminal(*words, columns=160).out
    detail = shell.on_terminal("decisions", "show", str(better["id"]), columns=120).out
    page = read(visited(engine.url, better))

    assert [each["conversation_id"] for each in both] == ["other", "talk"]
    assert "confidence_log" not in both[0]
    assert (row["replies"], row["rechecked"], row["improved"], row["escalated"]) == (1, 1, 1, 0)
    assert row["confidence"] == better["confidence"]
    assert (row["high"], row["medium"], row["low"], both[0]["low"]) == (1, 0, 0, 1)
    assert row["confidence_log"] == better["snapshot_json"]["confidenceLog"]
    assert [each["score"] for each in row["confidence_log"]] == better["snapshot_json"]["rechecked"]
    assert ("✓ high 1" in shown, "⚠ low 1" in shown, "↻ 1, improved 1" in shown) == (True, True, True)
    assert ("✓ high" in detail, "↻ rechecked" in detail) == (True, True)
    assert "✓ high confidence" in page
    assert f"1 assessed reply: mean {better['confidence']:.2f}, ✓ high 1, ↻ rechecked 1 (1 improved)" in page
    assert "⚠ low confidence" in read(visited(engine.url, low))
