"""Payloads of stream entries: their schema, and the event in one."""

from worker.payload.json_object import check_storable
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
from worker.payload.schema import ID_CHARS, EventPayload, is_account_name

__all__ = [
    "EARLIEST",
    "ID_CHARS",
    "PAYLOAD_BYTES",
    "Arrival",
    "EventPayload",
    "arrival_of",
    "check_storable",
    "expectation",
    "got_value",
    "is_account_name",
    "parse",
    "received_at",
]
