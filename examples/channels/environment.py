"""What the programs read from the environment."""

from __future__ import annotations

import os
import re

from . import CHANNELS
from .hushgate import Hushgate
from .recipe import ANY_TOKEN, Recipe, Setup


def setting(name: str) -> str:
    """A variable that must be set."""
    if not (value := os.environ.get(name)):
        raise SystemExit(f"{name}: expected a value, got nothing")
    return value


def seconds(name: str, default: float) -> float:
    """A time in seconds, above 0."""
    text = os.environ.get(name) or str(default)
    if not re.fullmatch(r"\d+(\.\d+)?", text) or not float(text):
        raise SystemExit(f"{name}: expected seconds above 0, got {text!r}")
    return float(text)


def recipe() -> Recipe:
    """The recipe that CHANNEL names."""
    if (name := setting("CHANNEL")) not in CHANNELS:
        raise SystemExit(f"CHANNEL: expected one of {', '.join(CHANNELS)}, got {name!r}")
    return CHANNELS[name]


def token(name: str, form: re.Pattern[str] = ANY_TOKEN) -> str:
    """A secret, which no error shows."""
    if not form.fullmatch(found := setting(name)):
        raise SystemExit(f"{name}: expected {form.pattern}, got {len(found)} other characters")
    return found


def hushgate() -> Hushgate | None:
    """The review server: HUSHGATE_URL and HUSHGATE_TOKEN; None where neither is set nor needed."""
    inbound = recipe().inbound
    if not os.environ.get("HUSHGATE_URL") and (inbound is None or inbound.owner is None):
        return None
    return Hushgate(setting("HUSHGATE_URL"), token("HUSHGATE_TOKEN"))


def redis_url() -> str:
    """REDIS_URL, by default that of this machine."""
    return os.environ.get("REDIS_URL", "redis://localhost:6379/0")


def setup() -> Setup:
    """The inbox: ACCOUNT, OWN_ID, PEOPLE (separated by commas) and ESCALATION_PLACE."""
    return Setup(
        account=setting("ACCOUNT"),
        own_id=setting("OWN_ID") if recipe().needs_own_id else "",
        people=frozenset(filter(None, os.environ.get("PEOPLE", "").split(","))),
        place=os.environ.get("ESCALATION_PLACE", ""),
    )
