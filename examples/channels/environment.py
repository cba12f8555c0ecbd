"""What receiver and consumer read from the environment."""

from __future__ import annotations

import os

from . import CHANNELS
from .recipe import Recipe, Setup


def setting(name: str) -> str:
    """A variable that must be set."""
    if not (value := os.environ.get(name)):
        raise SystemExit(f"{name}: expected a value, got nothing")
    return value


def recipe() -> Recipe:
    """The recipe that CHANNEL names."""
    if (name := setting("CHANNEL")) not in CHANNELS:
        raise SystemExit(f"CHANNEL: expected one of {', '.join(CHANNELS)}, got {name!r}")
    return CHANNELS[name]


def setup() -> Setup:
    """The inbox: ACCOUNT, OWN_ID, PEOPLE (separated by commas) and ESCALATION_PLACE."""
    return Setup(
        account=setting("ACCOUNT"),
        own_id=setting("OWN_ID"),
        people=frozenset(filter(None, os.environ.get("PEOPLE", "").split(","))),
        place=os.environ.get("ESCALATION_PLACE", ""),
    )
