"""The AsyncAPI 3.0 document of all streams, made from the schemas of their entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tasks.sending.entry_types import DRAFT, ENTRY_TYPES, EntryType
from worker import __version__
from worker.payload import EventPayload
from worker.payload.check_schema import CheckRequest
from worker.settings import StreamSettings

REFERENCES: Final = "#/components/schemas/{model}"
DEFAULTS: Final = StreamSettings.model_validate({"REDIS_URL": "redis://localhost:6379"})
ABOUT: Final = (
    "Redis streams of Hushgate. An entry's field `data` has the payload as JSON; its other fields are the"
    " headers. The names of the streams are the defaults; an environment variable changes each."
)
EVENT_ABOUT: Final = (
    "Messages to decide, and what people of the team wrote. CloudEvents 1.0 in structured JSON is accepted"
    " in `data` too."
)
KEY: Final = {
    "type": "string",
    "description": "`account/event_id`, of an escalation with `/` and its type after it; for deduplication."
    " In the account `/` is `%2F` and `%` is `%25`.",
}
SIGNATURE: Final = {
    "type": "string",
    "description": "`v1,` and the HMAC-SHA256 of the entry in base64, where HUSHGATE_STREAM_KEY is set.",
}
ATTRIBUTES: Final = {
    "ce_specversion": "CloudEvents version.",
    "ce_id": "Id of the entry, unique within `ce_source` and `ce_type`.",
    "ce_type": "Type of the entry.",
    "ce_source": "`/hushgate/` and the account, percent-encoded.",
    "ce_time": "RFC 3339.",
    "ce_datacontenttype": "Media type of `data`.",
}
TRACE_ATTRIBUTES: Final = {
    "ce_traceparent": "W3C Trace Context (CloudEvents extension Distributed Tracing).",
    "ce_tracestate": "`tracestate` that belongs to it.",
}
"""Of replies and opened escalations, where there is a trace."""


def event_schema() -> dict[str, Any]:
    """The JSON Schema of an event."""
    return {"$schema": DRAFT} | EventPayload.model_json_schema()


def check_schema() -> dict[str, Any]:
    """The JSON Schema of a check, which programs send to the gateway."""
    return {"$schema": DRAFT} | CheckRequest.model_json_schema()


def asyncapi_document() -> dict[str, Any]:
    """The document: what Hushgate reads and what it writes."""
    sent = {each.name: each for each in ENTRY_TYPES}
    bodies = {
        "event": EventPayload.model_json_schema(ref_template=REFERENCES),
        **{
            name: each.body.model_json_schema(mode="serialization", ref_template=REFERENCES)
            for name, each in sent.items()
        },
    }
    schemas = {name: shape for body in bodies.values() for name, shape in body.pop("$defs", {}).items()}
    return {
        "asyncapi": "3.0.0",
        "info": {"title": "Hushgate", "version": __version__, "description": ABOUT},
        "defaultContentType": "application/json",
        "servers": {"redis": {"host": "localhost:6379", "protocol": "redis"}},
        "channels": {
            "events": _channel("stream", ("event",), EVENT_ABOUT),
            **_channels_out(sent),
        },
        "operations": {
            "receiveEvent": _operation("receive", "events", "event"),
            **{
                f"send{name.title().replace('_', '')}": _operation("send", _channel_of(each), name)
                for name, each in sent.items()
            },
        },
        "components": {
            "messages": {
                name: _message(name, body, _headers(sent[name]) if name in sent else {})
                for name, body in bodies.items()
            },
            "schemas": schemas,
        },
    }


def _channels_out(sent: Mapping[str, EntryType]) -> dict[str, Any]:
    """One channel for each stream; a stream may have entries of several types."""
    names: dict[str, list[str]] = {}
    for name, each in sent.items():
        names.setdefault(_channel_of(each), []).append(name)
    return {
        channel: _channel(sent[found[0]].setting, found, " ".join(_about(sent[name]) for name in found))
        for channel, found in names.items()
    }


def _channel_of(each: EntryType) -> str:
    """The name of a type's channel: ``replies`` for ``reply_stream``."""
    name = each.setting.removesuffix("_stream")
    return f"{name.removesuffix('y')}ies" if name.endswith("y") else f"{name}s"


def _about(each: EntryType) -> str:
    return each.body.__doc__ or ""


def _channel(setting: str, messages: Sequence[str], about: str) -> dict[str, Any]:
    return {
        "address": getattr(DEFAULTS, setting),
        "description": f"{about} Variable: HUSHGATE_STREAM.",
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in messages},
    }


def _operation(action: str, channel: str, message: str) -> dict[str, Any]:
    return {
        "action": action,
        "channel": {"$ref": f"#/channels/{channel}"},
        "messages": [{"$ref": f"#/channels/{channel}/messages/{message}"}],
    }


def _message(name: str, payload: dict[str, Any], headers: dict[str, Any]) -> dict[str, Any]:
    message = {"name": name, "contentType": "application/json", "payload": payload}
    return message | ({"headers": headers} if headers else {})


def _headers(each: EntryType) -> dict[str, Any]:
    """The fields of an entry beside ``data``."""
    traced = TRACE_ATTRIBUTES if "traceparent" in each.body.model_fields else {}
    attributes: dict[str, Any] = {
        name: {"type": "string", "description": about} for name, about in (ATTRIBUTES | traced).items()
    }
    attributes["ce_type"]["const"] = each.event_type
    return {
        "type": "object",
        "required": ["key", *ATTRIBUTES],
        "properties": {"key": KEY, "signature": SIGNATURE, **attributes},
    }
