"""What the demo makes of the keys a person has."""

from __future__ import annotations

import pytest

from cli.stack.environment import completed, names_models
from worker.settings import Settings

SERVERS = {"DATABASE_URL": "postgresql://h/d", "REDIS_URL": "redis://h"}


@pytest.mark.parametrize(
    ("given", "moderated_by"),
    [
        ({"OPENAI_API_KEY": "k"}, "https://api.openai.com/v1"),
        (
            {"HUSHGATE_MODEL_URL": "https://api.openai.com/v1", "HUSHGATE_MODEL_KEY": "k"},
            "https://api.openai.com/v1",
        ),
        ({"OPENROUTER_API_KEY": "k", "OPENAI_API_KEY": ""}, None),
        ({"HUSHGATE_MODEL_URL": "http://127.0.0.1:11434/v1"}, None),
        ({"HUSHGATE_MODEL_URL": "http://h/v1", "HUSHGATE_MODERATION_URL": "http://m/v1"}, "http://m/v1"),
        ({"OPENROUTER_API_KEY": "a", "OPENAI_API_KEY": "b"}, "https://api.openai.com/v1"),
    ],
)
def test_a_key_or_an_address_is_a_complete_configuration(
    given: dict[str, str], moderated_by: str | None
) -> None:
    """Moderation is off where neither the caller nor a known vendor has a moderation API."""
    moderation = Settings.model_validate(SERVERS | completed(given)).servers.moderation

    assert names_models(given)
    assert (moderation.url if moderation else None) == moderated_by


def test_a_key_in_a_file_names_a_server() -> None:
    """The sandbox answers only where the caller names no server in any form."""
    assert names_models({"HUSHGATE_MODEL_KEY_FILE": "/run/secrets/model"})
    assert not names_models({"DATABASE_URL": "postgresql://h/d"})
