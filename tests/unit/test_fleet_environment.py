"""What the demo makes of the keys a person has."""

from __future__ import annotations

from cli.stack.environment import completed


def test_openais_key_alone_serves_the_model_too() -> None:
    """One key is enough for moderation and model."""
    found = completed({"OPENAI_API_KEY": "k"})

    assert found["OPENROUTER_API_KEY"] == "k"
    assert found["OPENROUTER_BASE_URL"] == "https://api.openai.com/v1"
    assert found["HUSHGATE_LLM_MODEL"] == "gpt-4.1-mini"


def test_openrouters_key_alone_switches_moderation_off() -> None:
    """There is no moderation API behind it."""
    found = completed({"OPENROUTER_API_KEY": "k", "OPENAI_API_KEY": ""})

    assert found == {"OPENROUTER_API_KEY": "k", "OPENAI_MODERATION_ENABLED": "false"}


def test_two_keys_change_nothing() -> None:
    """Two keys are a complete configuration."""
    both = {"OPENROUTER_API_KEY": "a", "OPENAI_API_KEY": "b"}

    assert completed(both) == both
