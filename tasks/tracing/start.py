"""The traces of a worker: what the engine needs of them, and where they begin."""

from __future__ import annotations

from typing import Protocol, cast

from worker import extras
from worker.model import Decision, TraceContext
from worker.settings import Settings

IMPLEMENTATION = "tasks.tracing.otlp"


class Traces(Protocol):
    """The receiver of every decision."""

    def context(self, decision: Decision) -> TraceContext:
        """The decision's own position in its trace, before its commit: the reply carries it."""
        ...

    def decided(self, decision: Decision) -> None:
        """Send the spans of a decision, after its commit; never waits for the receiver."""
        ...

    def servers_changed(self, settings: Settings) -> None:
        """Name the servers of these settings from now on."""
        ...

    def close(self) -> None:
        """Send what waits, for at most a few seconds."""
        ...


def start_traces(settings: Settings) -> Traces | None:
    """The traces that the settings ask for; None without a receiver.

    Raises:
        ConfigurationError: the extra ``traces`` is not installed.
    """
    if settings.traces_url is None:
        return None
    implementation = extras.load(IMPLEMENTATION, needed_by="HUSHGATE_TRACES_URL")
    return cast("Traces", implementation.OtlpTraces(settings))
