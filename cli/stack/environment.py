"""The environment of a local fleet, from the variables that its caller has set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

OPENAI: Final = "https://api.openai.com/v1"
KEYS: Final = ("OPENAI_API_KEY", "OPENROUTER_API_KEY")
EMBEDDING: Final = "HUSHGATE_EMBEDDING_MODEL"
ENDPOINTS: Final = ("OPENAI_BASE_URL", "OPENROUTER_BASE_URL")
STAND_INS: Final = {
    "DATABASE_URL": "postgresql://localhost/embedded",
    "REDIS_URL": "redis://localhost/0",
    **dict.fromkeys(KEYS, "sandbox"),
}
"""Values of the servers that the fleet starts, used while the caller's own variables are checked."""


def completed(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment, completed when only one key is set.

    OpenAI's key is used for the model too; with only OpenRouter's key there is no moderation API.
    """
    known = {name: value for name, value in environment.items() if value}
    if "OPENROUTER_API_KEY" not in known and "OPENROUTER_BASE_URL" not in known:
        endpoint = known.get("OPENAI_BASE_URL", OPENAI)
        known |= {"OPENROUTER_BASE_URL": endpoint, "OPENROUTER_API_KEY": known["OPENAI_API_KEY"]}
        known.setdefault("HUSHGATE_LLM_MODEL", "gpt-4.1-mini")
    if "OPENAI_API_KEY" not in known:
        known.setdefault("OPENAI_MODERATION_ENABLED", "false")
    return known
