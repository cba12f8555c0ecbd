"""The variables of shadows: candidates that beat runs beside the live settings."""

from __future__ import annotations

from pydantic import Field

from worker.settings.environment import Environment


class ShadowSettings(Environment):
    """How often beat looks for decisions, and the budgets of an account."""

    shadow_every_s: float = Field(
        default=2.0,
        ge=0,
        le=300,
        alias="HUSHGATE_SHADOW_EVERY_S",
        description="Seconds between two looks of beat for decisions that shadows make again; its"
        " DATABASE_URL then needs the login of the review pages. 0: beat runs no shadow.",
    )
    shadow_late_s: float = Field(
        default=300.0,
        ge=30,
        le=86_400,
        alias="HUSHGATE_SHADOW_LATE_S",
        description="Age in seconds from which shadows leave decisions out.",
    )
    shadow_decisions_a_day: int = Field(
        default=50_000,
        ge=0,
        alias="HUSHGATE_SHADOW_DECISIONS_A_DAY",
        description="Decisions that all shadows of an account make again in a day (UTC).",
    )
    shadow_usd_a_day: float = Field(
        default=1.0,
        ge=0,
        alias="HUSHGATE_SHADOW_USD_A_DAY",
        description="US dollars that all shadows of an account may spend in a day (UTC) for answers that"
        " recordings lack; each shadow declares its own part.",
    )
