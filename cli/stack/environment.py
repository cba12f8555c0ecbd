"""The environment of a local fleet, from the variables that its caller has set."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Final

from worker.settings import EMBEDDINGS_OFF

OPENAI: Final = "https://api.openai.com/v1"
KEYS: Final = ("OPENAI_API_KEY", "OPENROUTER_API_KEY")
ENDPOINTS: Final = ("OPENAI_BASE_URL", "OPENROUTER_BASE_URL")
SANDBOX_KEY: Final = "no-key"
"""No word of the sandbox's messages: logs and the audit mask keys."""
STAND_INS: Final = {
    "DATABASE_URL": "postgresql://localhost/embedded",
    "REDIS_URL": "redis://localhost/0",
}
STAND_IN_URL: Final = "http://localhost/v1"
"""Addresses of what the fleet starts, used while the caller's own variables are checked."""
BEAT_FILE: Final = "HUSHGATE_BEAT_FILE"
SERVERS: Final = ("DATABASE_URL", "REDIS_URL", "HUSHGATE_REVIEW_URL")
PREFIXES: Final = ("HUSHGATE_", "OPENAI_", "OPENROUTER_")


def names_models(environment: Mapping[str, str]) -> bool:
    """Whether the caller names a server of models, by its key or its address; else the sandbox answers."""
    return any(environment.get(name) for name in (*KEYS, *ENDPOINTS))


def completed(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment, completed when only one server is named.

    OpenAI's variables are used for the model too; with only OpenRouter's there is no moderation API.
    """
    known = {name: value for name, value in environment.items() if value}
    if "OPENROUTER_API_KEY" not in known and "OPENROUTER_BASE_URL" not in known:
        known["OPENROUTER_BASE_URL"] = known.get("OPENAI_BASE_URL", OPENAI)
        if "OPENAI_API_KEY" in known:
            known["OPENROUTER_API_KEY"] = known["OPENAI_API_KEY"]
        known.setdefault("HUSHGATE_LLM_MODEL", "gpt-4.1-mini")
    if "OPENAI_API_KEY" not in known:
        known.setdefault("OPENAI_MODERATION_ENABLED", "false")
    return known


def with_sandbox(environment: Mapping[str, str], base_url: str) -> dict[str, str]:
    """The environment of a fleet whose models are the sandbox; its vectors know no more than its words."""
    known = {name: value for name, value in environment.items() if value}
    own = dict.fromkeys(ENDPOINTS, base_url) | dict.fromkeys(KEYS, SANDBOX_KEY)
    return {"HUSHGATE_EMBEDDING_MODEL": EMBEDDINGS_OFF, "HUSHGATE_LLM_MODEL": "sandbox"} | known | own


def exports(environment: Mapping[str, str], outside: Mapping[str, str]) -> dict[str, str]:
    """The variables of a fleet that another shell needs beside the caller's, as words of a shell.

    A value that the caller has set is a reference to the caller's variable: keys are never printed.
    """
    given = {value: name for name, value in outside.items() if _is_ours(name)}
    return {name: shlex.quote(environment[name]) for name in SERVERS} | {
        name: f'"${given[value]}"' if value in given else shlex.quote(value)
        for name, value in sorted(environment.items())
        if _is_ours(name) and outside.get(name) != value
    }


def inherited(environment: Mapping[str, str], outside: Mapping[str, str]) -> tuple[str, ...]:
    """Names of the caller's own variables that another shell needs too."""
    return tuple(name for name in sorted(outside) if _is_ours(name) and name in environment and outside[name])


def _is_ours(name: str) -> bool:
    return name.startswith(PREFIXES) and name not in {BEAT_FILE, *SERVERS}
