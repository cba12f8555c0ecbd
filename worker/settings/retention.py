"""The variables of retention and erasure: how long rows are kept, and the key of receipts."""

from __future__ import annotations

import base64
import binascii
from typing import Final

from pydantic import Field, SecretStr, field_validator

from worker.settings.servers import DatabaseSettings

KEY_BYTES: Final = 32


class RetentionSettings(DatabaseSettings):
    """How long each table is kept; ``hushgate retention show`` lists the tables."""

    keep_keys_days: int = Field(
        default=730,
        ge=0,
        alias="HUSHGATE_KEEP_KEYS_DAYS",
        description="Days that idempotency keys are kept; 0 for ever.",
    )
    keep_dead_letters_days: int = Field(
        default=90,
        ge=0,
        alias="HUSHGATE_KEEP_DEAD_LETTERS_DAYS",
        description="Days that dead letters are kept, with their payloads; 0 for ever.",
    )
    keep_decisions_months: int = Field(
        default=24,
        ge=0,
        alias="HUSHGATE_KEEP_DECISIONS_MONTHS",
        description="Months that the audit, reviews, answers and ended replies are kept; 0 for ever.",
    )
    keep_messages_days: int = Field(
        default=365,
        ge=0,
        alias="HUSHGATE_KEEP_MESSAGES_DAYS",
        description="Days that the history is kept from which prompts are built; 0 for ever.",
    )
    keep_outgoing_days: int = Field(
        default=30,
        ge=7,
        alias="HUSHGATE_KEEP_OUTGOING_DAYS",
        description="Days that outgoing events and webhook deliveries are kept; they have texts in them.",
    )
    keep_access_log_days: int = Field(
        default=730,
        ge=0,
        alias="HUSHGATE_KEEP_ACCESS_LOG_DAYS",
        description="Days that the access log and ended legal holds are kept, at least 28; 0 for ever.",
    )
    keep_appeals_days: int = Field(
        default=184,
        ge=0,
        alias="HUSHGATE_KEEP_APPEALS_DAYS",
        description="Days that appeals are kept after their outcome, at least 184: six months; 0 for ever.",
    )
    keep_recordings_days: int = Field(
        default=30,
        ge=1,
        le=3650,
        alias="HUSHGATE_KEEP_RECORDINGS_DAYS",
        description="Days that recordings of decisions are kept, sealed; until then they can be replayed.",
    )
    keep_jobs_days: int = Field(
        default=90,
        ge=0,
        alias="HUSHGATE_KEEP_JOBS_DAYS",
        description="Days that ended jobs of the review pages are kept; files of exports go after a week.",
    )

    @field_validator("keep_appeals_days")
    @classmethod
    def _appeals_are_kept(cls, days: int) -> int:
        if 0 < days < 184:
            raise ValueError("expected 0 or at least 184")
        return days

    @field_validator("keep_access_log_days")
    @classmethod
    def _access_log_is_kept(cls, days: int) -> int:
        if 0 < days < 28:
            raise ValueError("expected 0 or at least 28")
        return days


class ErasureSettings(RetentionSettings):
    """The key that signs receipts of erasures."""

    signing_key: SecretStr | None = Field(
        default=None,
        alias="HUSHGATE_SIGNING_KEY",
        description="Ed25519 key that signs receipts of erasures, 32 bytes in base64; `hushgate erasure key`"
        " makes one. Without it receipts are signed later.",
    )

    @field_validator("signing_key")
    @classmethod
    def _key_is_usable(cls, key: SecretStr | None) -> SecretStr | None:
        if key is not None:
            key_bytes(key.get_secret_value())
        return key


def key_bytes(encoded: str) -> bytes:
    """The bytes of a key in base64; raises ``ValueError`` when it is none."""
    try:
        found = base64.b64decode(encoded, validate=True)
    except binascii.Error as error:
        raise ValueError("expected base64") from error
    if len(found) != KEY_BYTES:
        raise ValueError(f"expected {KEY_BYTES} bytes")
    return found
