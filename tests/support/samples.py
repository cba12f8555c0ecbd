"""Values that unit tests start from; each takes what a test wants different."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from worker.model import Account, Action, Assessment, Event, ModerationScores, Passage, Scope, Tier

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def event(**changes: Any) -> Event:
    """A chat message that arrived now."""
    values: dict[str, Any] = {
        "event_id": "e1",
        "entry_id": "1795262400000-0",
        "user_id": "acme",
        "scope": Scope.CHAT,
        "conversation_id": "c1",
        "message_id": "m1",
        "author_id": "a1",
        "text": "When are you open?",
        "created_at": NOW,
        "received_at": NOW,
    }
    return Event(**values | changes)


def body_of(event_id: str, /, **changes: Any) -> dict[str, Any]:
    """An event as publishers write it, of now; its message and its conversation have the same id."""
    return {
        "event_id": event_id,
        "user_id": "acme",
        "scope": "chat",
        "conversation_id": event_id,
        "message_id": event_id,
        "author_id": "author",
        "text": "When are you open?",
        "created_at": datetime.now(UTC).isoformat(),
    } | changes


def account(**changes: Any) -> Account:
    """An account that answers everywhere."""
    values: dict[str, Any] = {
        "user_id": "acme",
        "version": 3,
        "ai_control_enabled": True,
        "ai_enabled_for_chats": True,
        "ai_enabled_for_comments": True,
    }
    return Account(**values | changes)


def assessment(**changes: Any) -> Assessment:
    """A trusted draft's."""
    values: dict[str, Any] = {
        "policy": "calibrated@1",
        "confidence": 0.7,
        "tier": Tier.HIGH,
        "action": Action.SEND,
        "explanation": "Because.",
    }
    return Assessment(**values | changes)


def scores(flagged: tuple[str, ...] = (), **values: float) -> ModerationScores:
    """The result of a moderation call."""
    return ModerationScores(scores=values, flagged=frozenset(flagged), model="omni")


def passage(number: int = 1, **changes: Any) -> Passage:
    """A retrieved chunk."""
    values: dict[str, Any] = {
        "passage_id": f"{number}#1",
        "title": "Opening hours",
        "text": "We are open from nine to six on weekdays.",
        "similarity": 0.9,
    }
    return Passage(**values | changes)
