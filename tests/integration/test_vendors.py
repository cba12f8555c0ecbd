"""The forms of real vendors, from the stream to the reply: what an author gets, and what is stored."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs

from sandbox.server import SandboxHandle
from tests.support.running import Running, eventually, running

HOURS = {"Opening hours": ["We are open from nine to six on weekdays.", "On Sunday the shop is closed."]}
QUESTION = "When are you open on weekdays?"
SENT = "We are open from nine to six on weekdays."


@pytest.fixture
def engine(database_url: str, redis_url: str, sandbox: SandboxHandle) -> Iterator[Running]:
    """A fresh engine, whose attempts follow each other at once."""
    with running(database_url, redis_url, sandbox, HUSHGATE_MODEL_FIRST_WAIT_S="0") as each:
        yield each


@pytest.mark.parametrize(
    "vendor",
    [
        "openai-reasoning",
        "azure",
        "mistral",
        "anthropic-gateway",
        "vllm",
        "vllm-gemma",
        "llama-cpp",
        "ollama",
    ],
)
def test_a_first_and_a_second_message_are_answered(engine: Running, vendor: str) -> None:
    """With passages, with history, and by families that refuse what others need."""
    engine.sandbox.speak_as(vendor)
    user = engine.account(documents=HOURS)
    first = engine.decide(user, QUESTION, conversation_id="c1")
    second = engine.decide(user, "Is the shop closed on Sunday?", conversation_id="c1")

    assert (first["reason_code"], first["degraded"]) == ("REPLIED", False)
    assert (second["reason_code"] in {"LLM_REJECTED", "LLM_ERROR"}, second["degraded"]) == (False, False)


@pytest.mark.parametrize(
    ("vendor", "form"),
    [
        ("vllm", "think"),
        ("openrouter", "orphan_think"),
        ("ollama", "im_end"),
        ("vllm", "harmony"),
        ("mistral", "thinking_parts"),
        ("9router", "streamed"),
    ],
)
def test_the_protocol_of_a_model_reaches_nobody(engine: Running, vendor: str, form: str) -> None:
    """Neither the author nor the history."""
    engine.sandbox.speak_as(vendor)
    engine.sandbox.add_rule("chat", "form", value=form)
    user = engine.account(documents=HOURS)
    event = engine.publish(user, QUESTION)
    decided = engine.decided(user, event)
    reply = eventually(lambda: engine.reply(user, event), "the reply")
    said = engine.rows("SELECT text FROM messages WHERE user_id = %s AND role = 'assistant'", user)

    assert decided["reason_code"] == "REPLIED"
    assert [each["text"] for each in said] == [reply["text"]] == [SENT]


@pytest.mark.parametrize(
    ("vendor", "form", "reason"),
    [
        ("openai", "length", "LLM_ERROR"),
        ("openai", "no_reason_half", "LLM_ERROR"),
        ("openrouter", "error_reason", "LLM_ERROR"),
        ("openrouter", "hidden_429", "LLM_ERROR"),
        ("ollama", "unknown_call", "LLM_ERROR"),
        ("openai", "filtered", "MODEL_REFUSED"),
        ("openrouter", "flagged", "LLM_REJECTED"),
        ("azure", "filtered_prompt", "MODEL_REFUSED"),
        ("portkey", "blocked", "LLM_REJECTED"),
        ("litellm", "guardrail", "LLM_REJECTED"),
        ("9router", "stream_cut", "LLM_ERROR"),
    ],
)
def test_half_an_answer_and_a_refusal_are_silence_without_an_alarm(
    engine: Running, vendor: str, form: str, reason: str
) -> None:
    """Nothing is sent, and one author's text calls nobody."""
    engine.sandbox.speak_as(vendor)
    engine.sandbox.add_rule("chat", "form", value=form)
    user = engine.account(documents=HOURS)
    with capture_logs() as logs:
        decided = engine.decide(user, QUESTION)

    assert decided["reason_code"] == reason
    assert engine.rows("SELECT 1 AS one FROM outbox WHERE user_id = %s", user) == []
    assert [each for each in logs if each["event"] == "endpoint_misconfigured"] == []
