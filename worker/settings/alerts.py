"""The variables of alerts."""

from __future__ import annotations

from typing import Final

from pydantic import Field, SecretStr, field_validator

from worker.settings.environment import Environment, http_url

LEAST_PERIOD_S: Final = 60.0


class AlertSettings(Environment):
    """How often beat judges the alerts, and where changes are posted."""

    alerts_every_s: float = Field(default=0.0, ge=0, le=3600)
    """Seconds between two checks of all alerts by beat, from 60 on; its DATABASE_URL then needs the login of
    the review pages. 0: beat judges none."""
    alerts_workers: int = Field(default=1, ge=0)
    """Workers that are expected: an alert fires when fewer have a heartbeat."""
    alerts_webhook: SecretStr | None = None
    """URL to which each alert is posted as JSON, once when it fires and once when it ends."""

    @field_validator("alerts_every_s")
    @classmethod
    def _not_too_often(cls, every_s: float) -> float:
        if 0 < every_s < LEAST_PERIOD_S:
            raise ValueError(f"expected 0 or at least {LEAST_PERIOD_S:.0f}")
        return every_s

    @field_validator("alerts_webhook")
    @classmethod
    def _is_http(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None:
            http_url(url.get_secret_value())
        return url
