"""Where embeddings come from when few variables are set."""

from __future__ import annotations

import pytest

from worker.settings import DocumentSettings, EmbeddingEndpoint, embedding_endpoint

OPENAI_URL = "https://api.openai.com/v1"
OWN = "http://127.0.0.1:11434/v1"


def endpoint(**environment: str) -> EmbeddingEndpoint | None:
    """Of these variables."""
    return embedding_endpoint(
        DocumentSettings.model_validate({"DATABASE_URL": "postgresql://x", **environment})
    )


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"OPENAI_API_KEY": "a"}, (OPENAI_URL, "a", "", "text-embedding-3-small")),
        ({"OPENAI_BASE_URL": OWN}, (OWN, None, "", "")),
        (
            {"OPENROUTER_API_KEY": "b"},
            ("https://openrouter.ai/api/v1", "b", "", "openai/text-embedding-3-small"),
        ),
        ({"OPENROUTER_BASE_URL": OWN}, (OWN, None, "", "")),
        (
            {"OPENAI_API_KEY": "a", "OPENROUTER_BASE_URL": OWN},
            (OPENAI_URL, "a", "", "text-embedding-3-small"),
        ),
        ({"OPENAI_API_KEY": "a", "HUSHGATE_EMBEDDING_BASE_URL": OWN}, (OWN, None, "", "")),
        ({"HUSHGATE_EMBEDDING_MODEL": "m"}, (OPENAI_URL, None, "m", "text-embedding-3-small")),
        (
            {"HUSHGATE_EMBEDDING_MODEL": "m", "OPENAI_API_KEY": "a", "HUSHGATE_EMBEDDING_API_KEY": "c"},
            (OPENAI_URL, "c", "m", "text-embedding-3-small"),
        ),
    ],
)
def test_the_endpoint_is_the_one_that_has_a_key(
    environment: dict[str, str], expected: tuple[str, str | None, str, str]
) -> None:
    """A key goes to its own endpoint only; a server that is not well known has no default model."""
    found = endpoint(**environment)
    assert found is not None

    assert (found.url, found.key, found.model, found.default_model) == expected


@pytest.mark.parametrize("environment", [{}, {"OPENAI_API_KEY": "a", "HUSHGATE_EMBEDDING_MODEL": "off"}])
def test_without_a_key_or_when_switched_off_there_is_none(environment: dict[str, str]) -> None:
    """Searches then use words only."""
    assert endpoint(**environment) is None
