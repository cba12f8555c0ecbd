"""The recorded payloads of the channels in tests/fixtures/channels, and the inbox that they belong to."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from examples.channels import CHANNELS, youtube
from examples.channels.recipe import Json, Setup

DATA: Final = Path(__file__).parents[2] / "fixtures" / "channels"
NOW: Final = datetime(2026, 11, 21, 12, 10, tzinfo=UTC)
SETUPS: Final = {
    "slack": Setup(account="shop", own_id="U0BOT", people=frozenset({"U0LEE"}), place="C0TEAM"),
    "chatwoot": Setup(account="shop", own_id=""),
    "telegram": Setup(account="shop", own_id="@corner_shop_bot", people=frozenset({"4002"}), place="-100777"),
    "discord": Setup(
        account="shop",
        own_id="1100000000000000009",
        people=frozenset({"1333000000000000999"}),
        place="1333000000000000500",
    ),
    "intercom": Setup(account="shop", own_id="991267999"),
    "zendesk": Setup(account="shop", own_id="8447388099999"),
    "youtube": Setup(account="shop", own_id="UCshop", people=frozenset({"UClee"})),
}
SENT: Final = frozenset({"UgzRootCommentOfAnn4AaABAg.9sent"})
"""Comments that the consumer sent."""
UNKNOWN: Final = frozenset({"youtube:UgzRootCommentOfEvaAaABAg"})
"""Conversations with a reply whose outcome is not known."""


def payloads(channel: str) -> dict[str, Json]:
    """Every recorded payload of a channel, by its name."""
    found: dict[str, Json] = json.loads((DATA / f"{channel}.json").read_text(encoding="utf-8"))["payloads"]
    return found


def payload(channel: str, name: str) -> Json:
    """A copy of one recorded payload."""
    return copy.deepcopy(payloads(channel)[name])


def events(channel: str, body: Json) -> list[Json]:
    """The events that a recipe makes of a payload."""
    inbound = CHANNELS[channel].inbound
    if inbound is None:
        known = {"sent": SENT.__contains__, "unknown": UNKNOWN.__contains__}
        return youtube.events(body, SETUPS[channel], **known, now=NOW)
    return inbound.events(body, SETUPS[channel])


def reply(conversation_id: str, message_id: str, text: str = "Open <!here> & @everyone") -> dict[str, Any]:
    """The fields of a reply that recipes use."""
    return {"conversation_id": conversation_id, "message_id": message_id, "text": text}
