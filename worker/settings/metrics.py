"""The variables of the metrics endpoint."""

from __future__ import annotations

from pydantic import Field

from worker.settings.alerts import AlertSettings
from worker.settings.environment import Environment
from worker.settings.servers import DatabaseSettings, StreamSettings


class MetricsSettings(Environment):
    """Where a process serves its metrics, and which labels they have."""

    metrics_host: str = Field(default="127.0.0.1", min_length=1)
    """Address at which /metrics is served; without authentication: 0.0.0.0 inside a private network only."""
    metrics_port: int | None = Field(default=None, ge=0, le=65_535)
    """Port of /metrics of every process; a process that finds it in use takes the next free one of 20. 0: any
    free port, which the log line metrics_served names. Without a port there are no metrics."""
    metrics_accounts: int = Field(default=0, ge=0, le=1000)
    """Most accounts that metrics name, the first ones that a process sees; others are counted as `other`. 0:
    metrics name no account."""


class FleetSettings(StreamSettings, DatabaseSettings, MetricsSettings, AlertSettings):
    """Settings of ``hushgate metrics`` and ``hushgate alerts``."""
