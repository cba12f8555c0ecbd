"""The variable of webhooks."""

from __future__ import annotations

from pydantic import Field

from worker.settings.environment import Environment


class WebhookSettings(Environment):
    """Where webhooks may be sent to."""

    webhook_loopback: bool = Field(
        default=False,
        alias="HUSHGATE_WEBHOOK_LOOPBACK",
        description="True: webhooks may go to this machine, also over http. For tests and development only.",
    )
