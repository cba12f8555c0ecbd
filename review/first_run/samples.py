"""The sample data: a small bicycle shop, its documents and what its customers write."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from uuid_utils.compat import uuid7

from db.people.sample_data import SAMPLE_ACCOUNT
from worker.account_settings import changed
from worker.model import Account

SETTINGS: Final[Mapping[str, object]] = {
    "ai_control_enabled": True,
    "ai_enabled_for_chats": True,
    "ai_enabled_for_comments": True,
    "flagged_keywords": ["scam"],
    "flagged_phrases": ["click here", "refund fraud"],
    "burst_window_s": 0.0,
    "appeals_enabled": True,
}
QUEUE_NAME: Final = "Sample messages"
DOCUMENTS: Final[Mapping[str, str]] = {
    "Opening hours": (
        "Corner Bikes is open from Tuesday to Friday from 9:00 to 18:00.\n\n"
        "On Saturday the shop is open from 9:00 to 14:00. On Sunday and Monday it is closed.\n\n"
        "The workshop accepts bicycles until one hour before the shop closes."
    ),
    "Repairs and prices": (
        "A puncture repair costs 12 euros and takes one day.\n\n"
        "A full service costs 69 euros. It includes brakes, gears and a test ride.\n\n"
        "We also repair electric bicycles, but not their batteries."
    ),
    "Delivery and returns": (
        "Delivery within the city costs 5 euros and takes two working days.\n\n"
        "Unused parts can be returned within 30 days with the receipt. The money comes back in a week.\n\n"
        "Helmets cannot be returned for reasons of safety."
    ),
}
MESSAGES: Final[tuple[tuple[str, str, str], ...]] = (
    ("chat", "anna", "Hello!"),
    ("chat", "ben", "When are you open on Saturday?"),
    ("chat", "carla", "How much does a puncture repair cost?"),
    ("chat", "deniz", "Is the shop open on Sunday?"),
    ("comment", "emil", "click here and win a free bike"),
    ("comment", "farid", "This shop is a scam, stay away."),
    ("chat", "gina", "How long does delivery within the city take?"),
    ("chat", "hugo", "Can I return a helmet that I have worn once?"),
    ("chat", "ines", "I want to talk to a human, please."),
    ("chat", "jan", "Do you rent out tandems for a weekend?"),
    ("chat", "kira", "What is included in a full service?"),
    ("comment", "luis", "Lovely people, they repaired my brakes in a day."),
    ("comment", "mona", "You are idiots and I will kill you."),
    ("chat", "nils", "Do you repair the batteries of electric bicycles?"),
    ("chat", "olga", "My bill is wrong. I want to speak to the manager."),
    ("chat", "petra", "Can I pay with cryptocurrency?"),
    ("chat", "quinn", "Within how many days can I return unused parts?"),
    ("comment", "rosa", "Do you have a workshop for children in the holidays?"),
    ("chat", "sami", "Until when does the workshop accept bicycles?"),
    ("chat", "tara", "What does delivery cost?"),
    ("chat", "umar", "Is my insurance valid when I ride to Italy?"),
    ("chat", "vera", "Thank you very much!"),
    ("comment", "willi", "Great offer, click here for cheap watches"),
    ("chat", "xenia", "How much is a full service?"),
    ("chat", "yusuf", "My lawyer will contact you about the accident."),
    ("chat", "zoe", "Do you sell used racing bikes?"),
)
"""Scope, author and text; more than a queue of twenty items needs."""


def sample_account() -> Account:
    """The settings of the sample account, to be stored as its first version."""
    return changed(Account(user_id=SAMPLE_ACCOUNT, version=0), SETTINGS)


def sample_events(now: datetime) -> tuple[dict[str, Any], ...]:
    """The messages as events with new ids, each in a conversation of its own."""
    return tuple(_event(scope, author, text, now) for scope, author, text in MESSAGES)


def _event(scope: str, author: str, text: str, now: datetime) -> dict[str, Any]:
    event_id = f"sample-{uuid7()}"
    return {
        "event_id": event_id,
        "user_id": SAMPLE_ACCOUNT,
        "scope": scope,
        "conversation_id": event_id,
        "message_id": event_id,
        "author_id": f"sample-{author}",
        "text": text,
        "created_at": now.isoformat(),
    }
