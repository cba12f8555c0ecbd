"""The field ``data`` of every type of webhook, and the JSON Schema of the whole body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from db.history.conversation_owners import OwnerCause
from db.outgoing.events import OutgoingEvent
from db.webhooks.queue import ClaimedDelivery
from features.feature import hook_mapping
from tasks.sending.entry_types import (
    DRAFT,
    ESCALATION_CLOSED,
    ESCALATION_OPENED,
    REPLY,
    RETRACTION,
    TRACEPARENT,
    TRACESTATE,
    Body,
    Time,
    Uuid,
)
from tasks.sending.escalations import closed_entry, opened_entry
from worker.model import DecisionKind, Owner
from worker.webhooks.types import TEST_TYPE, WebhookType


class DecisionEntry(Body):
    """A decision on an event; its texts are in the audit."""

    decision: DecisionKind = Field(description="What was decided.")
    reason_code: str = Field(description="Why, as a stable code; see docs/reasons.md.")
    reason: str = Field(description="Why, as one sentence.")
    matched_rule: str | None = Field(description="The rule that matched; null without one.")
    confidence: float = Field(ge=0, le=1, description="As in the audit.")
    degraded: bool = Field(description="True when a service that should have been asked was not.")
    created_at: Time = Field(description="When the decision was made.")
    traceparent: str | None = TRACEPARENT
    tracestate: str | None = TRACESTATE


class OwnerEntry(BaseModel):
    """The owner of a conversation changed."""

    model_config = ConfigDict(frozen=True)

    user_id: str = Field(description="The account.")
    conversation_id: str = Field(description="As in its events.")
    owner: Owner = Field(description="Who may answer from now on: `ai` or `people`.")
    cause: OwnerCause = Field(description="What changed it.")
    changed_by: str = Field(description="Agent or login; empty for an escalation.")
    changed_at: Time = Field(description="When it changed.")
    people_until: Time | None = Field(
        description="People own it until then, unless they write again or release it; null for the AI."
    )


class RolloutReturnedEntry(BaseModel):
    """A rollout left its bounds: the settings in force decide every conversation again."""

    model_config = ConfigDict(frozen=True)

    user_id: str = Field(description="The account.")
    rollout_id: Uuid = Field(description="The rollout.")
    candidate_id: Uuid = Field(description="The candidate that had decided a share of the conversations.")
    reason: str = Field(description="The bounds that were left, with the figures of both arms.")
    returned_at: Time = Field(description="When it was returned.")


class TestEntry(BaseModel):
    """A test event, sent on request."""

    __test__ = False  # pytest: no tests
    model_config = ConfigDict(frozen=True)

    message: str = Field(description="A sentence for a person.")


BODIES: Final[Mapping[str, type[BaseModel]]] = {
    WebhookType.REPLY_CREATED: REPLY.body,
    WebhookType.REPLY_RETRACTED: RETRACTION.body,
    WebhookType.ESCALATION_OPENED: ESCALATION_OPENED.body,
    WebhookType.ESCALATION_CLOSED: ESCALATION_CLOSED.body,
    WebhookType.DECISION_MADE: DecisionEntry,
    WebhookType.CONVERSATION_TAKEN: OwnerEntry,
    WebhookType.CONVERSATION_RELEASED: OwnerEntry,
    **hook_mapping("outgoing"),
    WebhookType.ROLLOUT_RETURNED: RolloutReturnedEntry,
    TEST_TYPE: TestEntry,
}
"""By the type of the event."""
REFERENCES: Final = "#/$defs/{model}"


def event_data(claimed: ClaimedDelivery, pages: str | None) -> dict[str, Any]:
    """The field ``data`` of a delivery, as on the stream; ``pages`` is the URL of the review pages."""
    event = OutgoingEvent(
        row_id=claimed.row_id,
        user_id=claimed.user_id,
        conversation_id=claimed.conversation_id,
        type=claimed.type,
        key=claimed.key,
        body=claimed.body,
        created_at=claimed.created_at,
    )
    if claimed.type == WebhookType.ESCALATION_OPENED:
        return opened_entry(event, pages).model_dump(mode="json")
    if claimed.type == WebhookType.ESCALATION_CLOSED:
        return closed_entry(event, pages).model_dump(mode="json")
    return claimed.body


def webhook_schema() -> dict[str, Any]:
    """The JSON Schema of a request's body, of any type."""
    definitions: dict[str, Any] = {}
    for body in BODIES.values():
        shape = body.model_json_schema(mode="serialization", ref_template=REFERENCES)
        definitions |= shape.pop("$defs", {})
        definitions[body.__name__] = shape
    return {
        "$schema": DRAFT,
        "title": "Webhook",
        "description": "The body of a request, as Standard Webhooks 1.0.0 recommends it.",
        "oneOf": [_envelope(name, body) for name, body in BODIES.items()],
        "$defs": definitions,
    }


def _envelope(name: str, body: type[BaseModel]) -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["type", "timestamp", "data"],
        "properties": {
            "type": {"const": str(name)},
            "timestamp": {"type": "string", "format": "date-time", "description": "When it happened."},
            "data": {"$ref": REFERENCES.format(model=body.__name__)},
        },
    }
