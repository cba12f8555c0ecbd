"""The schema of a check as programs send it."""

from __future__ import annotations

import json
from typing import Annotated, Final, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    model_validator,
)
from pydantic_core import PydanticCustomError

from worker.model import MessageRole, Scope
from worker.payload.parse import PAYLOAD_BYTES
from worker.payload.schema import LANGUAGE, TEXT_CHARS, AccountName, Identifier

MOST_PASSAGES: Final = 100
MOST_LINES: Final = 100
TITLE_CHARS: Final = 500
PASSAGE_CHARS: Final = 20_000
SOMETHING: Final[dict[str, JsonValue]] = {
    "anyOf": [
        {"properties": {"message": {"type": "string", "minLength": 1}}, "required": ["message"]},
        {"properties": {"draft": {"type": "string", "minLength": 1}}, "required": ["draft"]},
    ]
}
"""JSON Schema: a check has a message, a draft or both."""


def _of_an_event(metadata: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """The metadata, which the audit keeps for ever, within the limit of an event."""
    if len(json.dumps(metadata, ensure_ascii=False).encode("utf-8", "replace")) > PAYLOAD_BYTES:
        raise PydanticCustomError("too_large", "at most {most} bytes of JSON", {"most": PAYLOAD_BYTES})
    return metadata


CheckedText = Annotated[str, StringConstraints(max_length=TEXT_CHARS, pattern=r"^[^\x00]*$")]


class CheckLine(BaseModel):
    """One earlier line of the conversation."""

    model_config = ConfigDict(extra="forbid", strict=True)

    role: Annotated[MessageRole, Field(strict=False)] = Field(
        description="`user`: the customer, `assistant`: the program, `agent`: a person of the team."
    )
    text: Annotated[CheckedText, StringConstraints(min_length=1)]


class CheckPassage(BaseModel):
    """One passage that the draft rests on."""

    model_config = ConfigDict(extra="forbid", strict=True)

    text: Annotated[str, StringConstraints(min_length=1, max_length=PASSAGE_CHARS, pattern=r"^[^\x00]*$")] = (
        Field(description="What the draft may rest on, as the program showed it to its model.")
    )
    id: Identifier | None = Field(
        default=None,
        description="The program's id of the passage, which quotes name; its number when absent.",
    )
    title: Annotated[str, StringConstraints(max_length=TITLE_CHARS, pattern=r"^[^\x00]*$")] = ""
    score: float = Field(
        default=1.0, ge=0, le=1, strict=False, description="How near the passage is to the question."
    )
    metadata: dict[str, str] = Field(
        default_factory=dict, max_length=50, description="Labels of the passage's document."
    )


class CheckRequest(BaseModel):
    """One check, as programs send it; a field that it does not name is an error.

    The JSON Schema in ``docs/check.schema.json`` is generated from this class.
    """

    model_config = ConfigDict(
        extra="forbid", strict=True, title="Hushgate check", json_schema_extra=SOMETHING
    )

    id: Identifier | None = Field(
        default=None,
        description="Idempotency key, unique per account: a repeated request gets the stored verdict. Absent:"
        " a new one, which the verdict has.",
    )
    user_id: AccountName = Field(description="The account whose rules and documents decide.")
    message: CheckedText = Field(
        default="", description="What the customer wrote; absent or empty: draft only."
    )
    draft: Annotated[CheckedText, StringConstraints(min_length=1)] | None = Field(
        default=None, description="What the program wants to send; absent: the message alone is checked."
    )
    passages: list[CheckPassage] | None = Field(
        default=None,
        max_length=MOST_PASSAGES,
        description="What the draft rests on. Absent, and without `search`: rules and moderation only.",
    )
    search: bool = Field(
        default=False, description="True: the account's documents are searched for further passages."
    )
    history: list[CheckLine] = Field(
        default_factory=list, max_length=MOST_LINES, description="Earlier lines, the oldest first."
    )
    scope: Annotated[Scope, Field(strict=False)] = Field(
        default=Scope.CHAT, description="Where the customer wrote."
    )
    conversation_id: Identifier | None = Field(
        default=None, description="While people own this conversation every verdict is `hold`."
    )
    message_id: Identifier | None = Field(default=None, description="The platform's id of the message.")
    author_id: Identifier | None = Field(default=None, description="Who wrote the message.")
    language: Annotated[str, StringConstraints(pattern=LANGUAGE)] | None = Field(
        default=None, description="BCP 47 tag of the message."
    )
    metadata: Annotated[dict[str, JsonValue], AfterValidator(_of_an_event)] = Field(
        default_factory=dict,
        description="The program's own object, kept with the decision; `labels` as in events.",
    )
    shadow: bool = Field(
        default=False, description="True: the verdict is `allow`, and `would` has what it would have been."
    )

    @model_validator(mode="after")
    def _has_a_text(self) -> Self:
        if not self.message and self.draft is None:
            raise PydanticCustomError("missing", "a message, a draft or both")
        return self
