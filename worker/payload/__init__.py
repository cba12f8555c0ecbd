"""Payloads of stream entries: their schema, and the event in one."""

from worker.payload.characters import whole_characters, whole_text
from worker.payload.json_object import no_json
from worker.payload.parse import (
    EARLIEST,
    PAYLOAD_BYTES,
    Arrival,
    arrival_of,
    expectation,
    got_value,
    parse,
    received_at,
)
from worker.payload.schema import (
    ACCOUNT_CHARS,
    ID_BYTES,
    AccountName,
    EventPayload,
    Identifier,
    is_account_name,
    is_id,
)

__all__ = [
    "ACCOUNT_CHARS",
    "EARLIEST",
    "ID_BYTES",
    "PAYLOAD_BYTES",
    "AccountName",
    "Arrival",
    "EventPayload",
    "Identifier",
    "arrival_of",
    "expectation",
    "got_value",
    "is_account_name",
    "is_id",
    "no_json",
    "parse",
    "received_at",
    "whole_characters",
    "whole_text",
]
