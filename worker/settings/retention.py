"""The variables of retention and erasure: how long rows are kept, and the key of receipts."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Final

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationInfo,
    field_validator,
)
from pydantic_settings import NoDecode

from worker.json_variables import json_value
from worker.settings.environment import Environment
from worker.settings.servers import DatabaseSettings

KEY_BYTES: Final = 32
LEAST_DAYS: Final[Mapping[str, int]] = {"access_log_days": 28, "appeals_days": 184}


class Kept(BaseModel):
    """How long rows and entries are kept; 0 for ever where 0 is allowed.

    Attributes:
        decisions_months: the audit, reviews, answers and ended replies.
        messages_days: the history from which prompts are built.
        keys_days: idempotency keys.
        dead_letters_days: dead letters, with their payloads.
        outgoing_days: outgoing events and webhook deliveries, which have texts in them.
        access_log_days: the access log and ended legal holds.
        appeals_days: appeals, after their outcome.
        recordings_days: recordings of decisions; until then they can be replayed.
        jobs_days: ended jobs of the review pages; files of exports go after a week.
        streams_days: entries of outgoing streams that every consumer group has acknowledged.
        ungrouped_streams_days: entries of outgoing streams without consumer groups, read or not.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    decisions_months: int = Field(default=24, ge=0)
    messages_days: int = Field(default=365, ge=0)
    keys_days: int = Field(default=730, ge=0)
    dead_letters_days: int = Field(default=90, ge=0)
    outgoing_days: int = Field(default=30, ge=7)
    access_log_days: int = Field(default=730, ge=0)
    appeals_days: int = Field(default=184, ge=0)
    recordings_days: int = Field(default=30, ge=1, le=3650)
    jobs_days: int = Field(default=90, ge=0)
    streams_days: float = Field(default=7.0, ge=0, le=3650)
    ungrouped_streams_days: float = Field(default=30.0, ge=0, le=3650)

    @field_validator(*LEAST_DAYS)
    @classmethod
    def _long_enough(cls, days: int, info: ValidationInfo) -> int:
        least = LEAST_DAYS[str(info.field_name)]
        if 0 < days < least:
            raise ValueError(f"expected 0 or at least {least}")
        return days


DEFAULTS: Final = ", ".join(f"{name} {field.default:g}" for name, field in Kept.model_fields.items())
EXPECTED: Final = f"a JSON object of numbers, out of {', '.join(Kept.model_fields)}"


class KeepSettings(Environment):
    """How long what Hushgate stores is kept."""

    keep: Annotated[Kept, NoDecode, BeforeValidator(partial(json_value, expected=EXPECTED))] = Field(
        default={},
        validate_default=True,
        description='How long rows and stream entries are kept, as a JSON object such as {"decisions_months":'
        f" 12}}; 0: for ever. See docs/retention.md. Defaults: {DEFAULTS}.",
    )


class RetentionSettings(DatabaseSettings, KeepSettings):
    """How long each table is kept; ``hushgate retention show`` lists the tables."""


class ErasureSettings(RetentionSettings):
    """The key that signs receipts of erasures."""

    signing_key: SecretStr | None = None
    """Ed25519 key that signs receipts of erasures, 32 bytes in base64; `hushgate erasure key` makes one.
    Without it receipts are signed later."""

    @field_validator("signing_key")
    @classmethod
    def _key_is_usable(cls, key: SecretStr | None) -> SecretStr | None:
        if key is not None:
            key_bytes(key.get_secret_value())
        return key


def key_bytes(encoded: str) -> bytes:
    """The bytes of a key in base64; raises ``ValueError`` for another text."""
    try:
        found = base64.b64decode(encoded, validate=True)
    except binascii.Error as error:
        raise ValueError("expected base64") from error
    if len(found) != KEY_BYTES:
        raise ValueError(f"expected {KEY_BYTES} bytes")
    return found
