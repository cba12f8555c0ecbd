"""Which server each role calls when few variables are set."""

from __future__ import annotations

import pytest

from worker.settings import DocumentSettings, ModelRole, ModelServer

OPENAI = "https://api.openai.com/v1"
OPENROUTER = "https://openrouter.ai/api/v1"
OWN = "http://127.0.0.1:11434/v1"
OTHER = "http://127.0.0.1:11435/v1"
CHAT, ROUTED = "gpt-4.1-mini", "openai/gpt-4.1-mini"
MODERATES, EMBEDS = "omni-moderation-latest", ""


def settings(environment: dict[str, str]) -> DocumentSettings:
    """Of these variables."""
    return DocumentSettings.model_validate({"DATABASE_URL": "postgresql://x", **environment})


def shown(server: ModelServer | None) -> tuple[str, str | None, str] | None:
    """URL, key and model."""
    return None if server is None else (server.url, server.key, server.model)


@pytest.mark.parametrize(
    ("environment", "model", "moderation", "judge", "embeddings"),
    [
        (
            {"HUSHGATE_MODEL_URL": OWN},
            (OWN, None, ROUTED),
            (OWN, None, MODERATES),
            (OWN, None, ROUTED),
            (OWN, None, EMBEDS),
        ),
        (
            {"HUSHGATE_MODEL_URL": OWN, "HUSHGATE_MODEL_KEY": "m", "HUSHGATE_MODEL": "llama"},
            (OWN, "m", "llama"),
            (OWN, "m", MODERATES),
            (OWN, "m", "llama"),
            (OWN, "m", EMBEDS),
        ),
        (
            {
                "HUSHGATE_MODEL_URL": OWN,
                "HUSHGATE_MODEL_KEY": "m",
                "HUSHGATE_MODERATION_URL": OTHER,
                "HUSHGATE_JUDGE_URL": OTHER,
                "HUSHGATE_JUDGE_KEY": "j",
                "HUSHGATE_JUDGE": "small",
                "HUSHGATE_EMBEDDINGS_KEY": "e",
                "HUSHGATE_EMBEDDINGS": "bge",
            },
            (OWN, "m", ROUTED),
            (OTHER, None, MODERATES),
            (OTHER, "j", "small"),
            (OWN, "e", "bge"),
        ),
        (
            {
                "HUSHGATE_MODEL_URL": OWN,
                "HUSHGATE_MODERATION": "off",
                "HUSHGATE_JUDGE": "off",
                "HUSHGATE_EMBEDDINGS": "off",
            },
            (OWN, None, ROUTED),
            None,
            None,
            None,
        ),
        (
            {"OPENAI_API_KEY": "a"},
            (OPENAI, "a", CHAT),
            (OPENAI, "a", MODERATES),
            (OPENAI, "a", CHAT),
            (OPENAI, "a", EMBEDS),
        ),
        (
            {"OPENROUTER_API_KEY": "b", "OPENAI_MODERATION_ENABLED": "false"},
            (OPENROUTER, "b", ROUTED),
            None,
            (OPENROUTER, "b", ROUTED),
            (OPENROUTER, "b", EMBEDS),
        ),
        (
            {"OPENAI_API_KEY": "a", "OPENROUTER_BASE_URL": OWN},
            (OWN, None, ROUTED),
            (OPENAI, "a", MODERATES),
            (OWN, None, ROUTED),
            (OPENAI, "a", EMBEDS),
        ),
        (
            {"OPENAI_API_KEY": "a", "HUSHGATE_MODEL_URL": OPENAI},
            (OPENAI, "a", CHAT),
            (OPENAI, "a", MODERATES),
            (OPENAI, "a", CHAT),
            (OPENAI, "a", EMBEDS),
        ),
        (
            {"OPENAI_API_KEY": "a", "OPENROUTER_API_KEY": "b", "HUSHGATE_EMBEDDINGS_URL": OWN},
            (OPENROUTER, "b", ROUTED),
            (OPENAI, "a", MODERATES),
            (OPENROUTER, "b", ROUTED),
            (OWN, None, EMBEDS),
        ),
        (
            {"HUSHGATE_MODEL_KEY": "m", "OPENROUTER_API_KEY": "b", "HUSHGATE_JUDGE_KEY": "j"},
            (OPENROUTER, "m", ROUTED),
            (OPENROUTER, "m", MODERATES),
            (OPENROUTER, "j", ROUTED),
            (OPENROUTER, "m", EMBEDS),
        ),
        ({"HUSHGATE_EMBEDDINGS": "bge"}, ("", None, ROUTED), None, None, None),
    ],
)
def test_each_role_has_its_own_server_or_the_model_s(
    environment: dict[str, str], model: object, moderation: object, judge: object, embeddings: object
) -> None:
    """A key is sent to its own server only."""
    found = settings(environment).servers
    each = (shown(found.model), shown(found.moderation), shown(found.judge), shown(found.embeddings))

    assert each == (model, moderation, judge, embeddings)


@pytest.mark.parametrize(
    ("environment", "problem"),
    [
        ({}, "HUSHGATE_MODEL_URL, HUSHGATE_MODEL_KEY"),
        ({"HUSHGATE_MODEL_URL": OPENAI}, "HUSHGATE_MODEL_URL, HUSHGATE_MODEL_KEY"),
        ({"HUSHGATE_MODEL_KEY": "m"}, "HUSHGATE_MODERATION_URL, HUSHGATE_MODERATION_KEY"),
        ({"OPENROUTER_API_KEY": "b"}, "HUSHGATE_MODERATION_URL, HUSHGATE_MODERATION_KEY"),
        ({"HUSHGATE_MODEL_URL": OWN, "OPENAI_BASE_URL": OPENAI}, "HUSHGATE_MODERATION_URL"),
        ({"HUSHGATE_MODEL_KEY": "m", "HUSHGATE_MODERATION": "off"}, None),
        ({"HUSHGATE_MODEL_URL": OWN}, None),
        ({"OPENAI_API_KEY": "a"}, None),
    ],
)
def test_what_is_missing_is_named(environment: dict[str, str], problem: str | None) -> None:
    """Nothing is unmoderated unless a variable says so."""
    found = settings(environment).models_problem

    assert (found or "").startswith(problem or "")
    assert (found is None) == (problem is None)


def test_the_variables_of_a_fallback_are_the_model_s() -> None:
    """What a person must change: the judge that shares the model's server has no variables of its own."""
    judge = settings({"HUSHGATE_MODEL_URL": OWN, "HUSHGATE_JUDGE": "small"}).servers.judge
    assert judge is not None

    assert (judge.url_variable, judge.key_variable) == ("HUSHGATE_MODEL_URL", "HUSHGATE_MODEL_KEY")
    assert (judge.named_by, judge.named_by.variable) == (ModelRole.JUDGE, "HUSHGATE_JUDGE")


@pytest.mark.parametrize(
    ("url", "model"),
    [(OPENAI, "text-embedding-3-small"), (OPENROUTER, "openai/text-embedding-3-small"), (OWN, "")],
)
def test_a_known_vendor_has_a_default_embedding_model(url: str, model: str) -> None:
    """Another server is asked for its model."""
    found = settings({"HUSHGATE_MODEL_URL": url}).servers.embeddings

    assert found is not None
    assert found.default_embedding_model == model


def test_a_key_is_not_shown() -> None:
    """A server is logged and compared; its key is not printed."""
    assert "hunter" not in repr(settings({"HUSHGATE_MODEL_KEY": "hunter2"}).servers)
