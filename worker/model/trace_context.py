"""W3C Trace Context: where in a distributed trace an event or a decision is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from worker.model.event import Json

TRACEPARENT: Final = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.ASCII)
STATE_CHARS: Final = 512
STATE_MEMBER: Final = re.compile(
    r"[a-z0-9][a-z0-9_\-*/@]{0,240}"
    r"=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]",
    re.ASCII,
)
SAMPLED: Final = 0x01
KNOWN_FLAGS: Final = 0x03
"""Sampled, and random trace id; a later version may define more, which are not passed on."""
TRACE_FIELDS: Final = ("traceparent", "tracestate")


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceContext:
    """A position in a trace.

    Attributes:
        trace_id: 32 hex digits, not all zero.
        span_id: 16 hex digits, not all zero.
        flags: the trace flags; bit 0: the caller records this trace.
        state: ``tracestate`` as it came, or empty.
    """

    trace_id: str
    span_id: str
    flags: int = 0
    state: str = ""

    @property
    def sampled(self) -> bool:
        """Whether the trace is recorded."""
        return bool(self.flags & SAMPLED)

    @classmethod
    def of(cls, metadata: Mapping[str, Json]) -> Self | None:
        """The context that a publisher sent in ``metadata``; None without one, or with an invalid one."""
        parent, state = metadata.get("traceparent"), metadata.get("tracestate")
        if not isinstance(parent, str) or (match := TRACEPARENT.fullmatch(parent)) is None:
            return None
        version, trace_id, span_id, flags, rest = match.groups()
        if version == "ff" or (version == "00" and rest) or not (int(trace_id, 16) and int(span_id, 16)):
            return None
        kept = state if isinstance(state, str) and _is_tracestate(state) else ""
        return cls(trace_id=trace_id, span_id=span_id, flags=int(flags, 16) & KNOWN_FLAGS, state=kept)

    def fields(self) -> dict[str, Json]:
        """``traceparent``, and ``tracestate`` where there is one."""
        found: dict[str, Json] = {"traceparent": f"00-{self.trace_id}-{self.span_id}-{self.flags:02x}"}
        if self.state:
            found["tracestate"] = self.state
        return found


def _is_tracestate(text: str) -> bool:
    if len(text) > STATE_CHARS:
        return False
    return all(STATE_MEMBER.fullmatch(member.strip(" \t")) for member in text.split(","))


def trace_headers(fields: Mapping[str, Json]) -> dict[str, str]:
    """The HTTP headers of a valid context among these fields; empty without one."""
    context = TraceContext.of(fields)
    return {} if context is None else {name: str(value) for name, value in context.fields().items()}
