"""The variables of shadows: candidates that beat runs beside the live settings."""

from __future__ import annotations

from pydantic import Field

from worker.settings.environment import Environment


class ShadowSettings(Environment):
    """The budget of an account."""

    shadow_usd_a_day: float = Field(default=1.0, ge=0)
    """US dollars that all shadows of an account may spend in a day (UTC) for answers that recordings lack;
    each shadow declares its own part."""
