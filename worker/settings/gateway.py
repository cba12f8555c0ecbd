"""The variables of publishing by HTTP."""

from __future__ import annotations

from pydantic import Field

from worker.settings.review import ReviewSettings
from worker.settings.servers import StreamSettings


class IngestSettings(StreamSettings):
    """Settings of ``POST /api/v1/events``, in the gateway and in the review server."""

    ingest_rate: float = Field(default=200.0, ge=0, le=100_000)
    """Events a second on average that one API token may publish, and that may be published by HTTP for one
    account; 0: no limit."""


class GatewaySettings(IngestSettings, ReviewSettings):
    """Settings of ``hushgate gateway``."""
