"""The types of events that an endpoint can subscribe to, and the limits of an endpoint."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

URL_CHARS: Final = 2000
DESCRIPTION_CHARS: Final = 200
MOST_ENDPOINTS: Final = 20
"""Endpoints of one account."""


class WebhookType(StrEnum):
    """A type of event; part of the interface, never renamed."""

    REPLY_CREATED = "reply.created"
    REPLY_RETRACTED = "reply.retracted"
    ESCALATION_OPENED = "escalation.opened"
    ESCALATION_CLOSED = "escalation.closed"
    DECISION_MADE = "decision.made"
    CONVERSATION_TAKEN = "conversation.taken"
    CONVERSATION_RELEASED = "conversation.released"
    APPEAL_DECIDED = "appeal.decided"
    ROLLOUT_RETURNED = "rollout.returned"


TEST_TYPE: Final = "webhook.test"
"""The type of a test event; endpoints receive it without a subscription."""
CANCEL_REASONS: Final[Mapping[str, str]] = {
    "taken_over": "people took the conversation",
    "too_late": "it was too late",
    "message_deleted": "the message was deleted",
    "message_flagged": "the edit of the message was flagged",
    "retracted": "the reply was taken back",
    "reply_not_sent": "the reply was not sent",
}
"""Why a delivery is not sent, as stored and in words; total over the check of ``webhook_deliveries``."""
