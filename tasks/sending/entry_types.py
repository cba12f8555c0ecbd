"""The types of entries of the outgoing streams: schema, stream and CloudEvents attributes of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from db.escalations.closing import ClosingCause
from tasks.sending.once_stream import OutgoingEntry
from worker.model import Scope, Tier, trace_headers

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
TRACEPARENT: Final[Any] = Field(
    default=None,
    description="W3C Trace Context: the decision where traces are sent, else as the event had it; null"
    " without one.",
)
TRACESTATE: Final[Any] = Field(default=None, description="W3C `tracestate` that belongs to it, or null.")
Uuid = Annotated[str, Field(json_schema_extra={"format": "uuid"})]


class Body(BaseModel):
    """The fields that every entry has in ``data``; later releases may add fields."""

    model_config = ConfigDict(frozen=True, json_schema_serialization_defaults_required=True)

    event_id: str = Field(description="The event that it belongs to.")
    user_id: str = Field(description="The account.")
    decision_id: Uuid = Field(description="The decision in the audit.")
    conversation_id: str = Field(description="As in the event.")
    message_id: str = Field(description="The message that was answered, as in the event.")
    scope: Scope = Field(description="As in the event.")


class CitedSource(BaseModel):
    """A passage that a reply rests on."""

    model_config = ConfigDict(frozen=True)

    number: int = Field(description="The citation's number in the draft.")
    document_id: str = Field(description="The document.")
    passage_id: str = Field(description="The passage within the document.")
    title: str = Field(description="The passage's title.")


class ReadQuote(BaseModel):
    """A piece of a passage that a judge quoted for a sentence."""

    model_config = ConfigDict(frozen=True)

    passage_id: str = Field(description="The passage within the document.")
    number: int = Field(description="The passage's number, as the citations of the draft count.")
    text: str = Field(description="The piece, as the passage has it; the title where it stands there.")


class SupportedSentence(BaseModel):
    """A sentence that a judge supported, checked by code."""

    model_config = ConfigDict(frozen=True)

    text: str = Field(description="The sentence, as in the reply's `text`.")
    support: float = Field(ge=0, le=1, description="How likely it is that the passages support it.")
    quotes: list[ReadQuote] = Field(description="The pieces of passages on which it rests.")


class ReplyEntry(Body):
    """A reply to send to the author of a message."""

    text: str = Field(description="The text to send, with the disclosure where there is one.")
    disclosure: str | None = Field(
        default=None, description="The start of `text` that says that an AI answers; null: not in this reply."
    )
    ai_generated: bool = Field(
        description="True when a language model wrote the reply; false for a configured fallback text."
    )
    model: str | None = Field(
        default=None, description="The model, as its endpoint named it; null when no model wrote the reply."
    )
    policy: str | None = Field(
        default=None, description="The policy that assessed the draft, with its version: `calibrated@1`."
    )
    confidence: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Confidence in the draft, for a fallback text in the draft that it replaces; null when"
        " nothing was measured.",
    )
    tier: Tier | None = Field(default=None, description="The tier of this confidence.")
    assessment: dict[str, JsonValue] | None = Field(
        default=None,
        description="The message metadata that the design of the policy publishes: `validators`"
        " (`confidence_score`, `validation_info`, `learning_suggestions`) and `guardrail`"
        " (`confidenceBreakdown` and others); null for the other policies.",
    )
    sent_by_person: bool = Field(
        default=False, description="True when a person approved, edited or wrote the reply."
    )
    edited_by_person: bool = Field(
        default=False, description="True when a person changed what the language model wrote."
    )
    answered_decision_id: Uuid | None = Field(
        default=None,
        description="Of a reply that a person sent: the decision in the audit that it answers. Its"
        " `decision_id` is then the id of the person's answer, and its `event_id` begins with `person:`.",
    )
    sources: list[CitedSource] = Field(description="The passages that the draft cites.")
    sentences: list[SupportedSentence] | None = Field(
        default=None,
        description="The sentences of the reply that a judge supported, each with its quotes; a person's"
        " changes leave only unchanged sentences. Null where no judge read the draft, or no model wrote the"
        " reply.",
    )
    handoff: bool = Field(
        default=False,
        description="True for the account's text at a handoff, which announces that people will answer.",
    )
    created_at: Time = Field(description="When the decision was made.")
    traceparent: str | None = TRACEPARENT
    tracestate: str | None = TRACESTATE


class RetractionEntry(Body):
    """A delivered reply that the channel must delete."""

    review_id: Uuid = Field(
        description="The review that removed the reply; after the deletion of a message, an id of its own."
    )
    retracted_at: Time = Field(description="When it was removed.")


class EscalationBody(Body):
    """The fields of both entries of an escalation."""

    author_id: str = Field(description="Who wrote the message.")
    reason_code: str = Field(description="Why the decision handed it to people, see docs/reasons.md.")
    queue: str = Field(description="The queue that the account's settings name; empty: none.")
    opened_at: Time = Field(description="When the decision was made.")
    link: str | None = Field(
        default=None, description="The decision's page; null where HUSHGATE_REVIEW_URL is not set."
    )


class EscalationOpenedEntry(EscalationBody):
    """A message that a person must answer."""

    text: str = Field(description="The message.")
    reason: str = Field(description="The reason as one sentence.")
    matched_rule: str | None = Field(description="The rule that stopped the message or the draft, or null.")
    draft: str | None = Field(
        description="The draft that was not sent; null where there is none, or it is sealed because it was"
        " flagged."
    )
    passages: list[CitedSource] = Field(
        description="The passages that the draft was made from; `number` is that of its citation marks."
    )
    confidence: float | None = Field(
        ge=0, le=1, description="Confidence in the draft; null when nothing was measured."
    )
    tier: Tier | None = Field(description="The tier of this confidence.")
    in_hours: bool = Field(description="Whether it was opened in the account's business hours.")
    handoff_text: str | None = Field(
        description="The account's text that announces the handoff to the author; null: none. It leaves on"
        " the reply stream."
    )
    traceparent: str | None = TRACEPARENT
    tracestate: str | None = TRACESTATE


class EscalationClosedEntry(EscalationBody):
    """An escalation that is closed: no answer is expected any more."""

    closed_at: Time = Field(description="When it was closed.")
    closed_by: str = Field(description="The person: author id or login; empty where no person closed it.")
    cause: ClosingCause = Field(
        description="`answered` by a person, `released` to the AI, `idle`: people wrote nothing for"
        " `people_idle_s`, `reviewed`: a reviewer overturned the escalation, `replaced` by a later one."
    )


def entry_key(user_id: str, *parts: str) -> str:
    """The deduplication key of an entry; a slash in an account's name would make it another account's key."""
    return "/".join((user_id.replace("%", "%25").replace("/", "%2F"), *parts))


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryType:
    """A type of entry.

    Attributes:
        name: ``hushgate schema NAME`` prints its schema.
        body: the schema of the field ``data``.
        setting: the field of ``StreamSettings`` that names its stream.
        event_type: the CloudEvents type; changes only when a consumer must change.
    """

    name: str
    body: type[Body]
    setting: str
    event_type: str

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of ``data``."""
        return {"$schema": DRAFT} | self.body.model_json_schema(mode="serialization")

    def entry(self, body: Body, *, mark: str, at: str, key: str | None = None) -> OutgoingEntry:
        """The stream entry of a body; ``mark`` is the entry's id, unique within its stream."""
        return OutgoingEntry(
            mark=mark,
            decision=body.decision_id,
            key=key or entry_key(body.user_id, body.event_id),
            body=(data := body.model_dump(mode="json")),
            attributes={
                "ce_specversion": "1.0",
                "ce_id": mark,
                "ce_type": self.event_type,
                "ce_source": f"/hushgate/{quote(body.user_id, safe='')}",
                "ce_time": at,
                "ce_datacontenttype": "application/json",
                **{f"ce_{name}": value for name, value in trace_headers(data).items()},
            },
        )


REPLY: Final = EntryType(
    name="reply", body=ReplyEntry, setting="reply_stream", event_type="hushgate.reply.v1"
)
RETRACTION: Final = EntryType(
    name="retraction",
    body=RetractionEntry,
    setting="retraction_stream",
    event_type="hushgate.retraction.v1",
)
ESCALATION_OPENED: Final = EntryType(
    name="escalation_opened",
    body=EscalationOpenedEntry,
    setting="escalation_stream",
    event_type="hushgate.escalation.opened.v1",
)
ESCALATION_CLOSED: Final = EntryType(
    name="escalation_closed",
    body=EscalationClosedEntry,
    setting="escalation_stream",
    event_type="hushgate.escalation.closed.v1",
)
ENTRY_TYPES: Final = (REPLY, RETRACTION, ESCALATION_OPENED, ESCALATION_CLOSED)
"""Every type; schemas and the AsyncAPI document are made from this tuple."""
