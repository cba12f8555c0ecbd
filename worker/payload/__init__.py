"""Payloads of stream entries: their schema, and the event in one."""

from worker.payload.characters import whole_characters
from worker.payload.json_object import no_json
from worker.payload.parse import (
    PAYLOAD_BYTES,
    Arrival,
    arrival_of,
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
