"""The environment of a local fleet, from the variables that its caller has set."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, MutableMapping
from typing import Final

from worker.settings import OFF, SECRETS
from worker.settings.environment import NOT_OURS
from worker.settings.secret_files import SUFFIX

OPENAI_HOST: Final = "https://api.openai.com/"
MODELS: Final = (
    "HUSHGATE_MODEL_URL",
    "HUSHGATE_MODEL_KEY",
    "OPENROUTER_BASE_URL",
    "OPENROUTER_API_KEY",
    "OPENAI_BASE_URL",
    "OPENAI_API_KEY",
)
MODERATION: Final = (
    "HUSHGATE_MODERATION",
    "HUSHGATE_MODERATION_URL",
    "HUSHGATE_MODERATION_KEY",
    "OPENAI_API_KEY",
    "OPENAI_MODERATION_ENABLED",
)
SANDBOX_KEY: Final = "no-key"
"""No word of the sandbox's messages: logs and the audit mask keys."""
SANDBOX_MODEL: Final = "sandbox"
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
    return _names(environment, MODELS)


def forget_sandbox(environment: MutableMapping[str, str]) -> None:
    """Remove the sandbox that an earlier start printed for other shells: it ended with that start."""
    model, key = environment.get("HUSHGATE_MODEL"), environment.get("HUSHGATE_MODEL_KEY")
    if (model, key) == (SANDBOX_MODEL, SANDBOX_KEY):
        for name in ("HUSHGATE_MODEL", "HUSHGATE_MODEL_KEY", "HUSHGATE_MODEL_URL"):
            environment.pop(name, None)


def completed(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment; moderation is off unless the caller names its server, or the model's is OpenAI's."""
    known = {name: value for name, value in environment.items() if value}
    has_moderation = known.get("HUSHGATE_MODEL_URL", "").startswith(OPENAI_HOST)
    if not has_moderation and not _names(known, MODERATION):
        known["HUSHGATE_MODERATION"] = OFF
    return known


def with_sandbox(environment: Mapping[str, str], base_url: str) -> dict[str, str]:
    """The environment of a fleet whose models are the sandbox; its vectors know no more than its words."""
    known = {name: value for name, value in environment.items() if value}
    own = {"HUSHGATE_MODEL_URL": base_url, "HUSHGATE_MODEL_KEY": SANDBOX_KEY}
    return {"HUSHGATE_EMBEDDINGS": OFF, "HUSHGATE_MODEL": SANDBOX_MODEL} | known | own


def exports(environment: Mapping[str, str], outside: Mapping[str, str]) -> dict[str, str]:
    """The variables of a fleet that another shell needs, as words of a shell; not the keys of the caller."""
    own = set(inherited_keys(environment, outside))
    return {name: shlex.quote(environment[name]) for name in SERVERS} | {
        name: shlex.quote(value)
        for name, value in sorted(environment.items())
        if _is_ours(name) and value and name not in own
    }


def inherited_keys(environment: Mapping[str, str], outside: Mapping[str, str]) -> tuple[str, ...]:
    """Names of the caller's keys that another shell needs too: their values are never printed."""
    ours = (name for name in sorted(outside) if name in SECRETS and _is_ours(name))
    return tuple(name for name in ours if outside[name] and outside[name] == environment.get(name))


def _names(environment: Mapping[str, str], names: tuple[str, ...]) -> bool:
    return any(environment.get(name) or environment.get(f"{name}{SUFFIX}") for name in names)


def _is_ours(name: str) -> bool:
    is_known = name.startswith(PREFIXES) and not NOT_OURS.fullmatch(name)
    return is_known and name not in {BEAT_FILE, *SERVERS}
