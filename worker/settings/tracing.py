"""The variables of traces."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from worker.settings.environment import Environment, HttpUrl


class TraceContent(StrEnum):
    """What traces contain beside codes, durations and numbers.

    Attributes:
        NONE: neither ids nor texts.
        IDS: ids of account, event, conversation and decision.
        TEXTS: these, the message and the reply.
    """

    NONE = "none"
    IDS = "ids"
    TEXTS = "texts"


class TraceSettings(Environment):
    """Where a worker sends traces, and the contents of traces."""

    traces_url: HttpUrl | None = None
    """Base URL of an OTLP/HTTP receiver, such as http://127.0.0.1:4318, for traces of decisions; needs the
    extra hushgate[traces]. None: no traces."""
    traces_ratio: float = Field(default=1.0, ge=0, le=1)
    """Share of decisions that are traced, among those whose event has no trace context; an event's own
    context decides for it."""
    traces_content: TraceContent = TraceContent.NONE
    """What traces contain beside codes, durations and numbers. none: nothing; ids: ids of account, event,
    conversation and decision; texts: these, the message and the reply."""
