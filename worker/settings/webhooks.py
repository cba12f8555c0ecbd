"""The variable of webhooks."""

from __future__ import annotations

from worker.settings.environment import Environment


class WebhookSettings(Environment):
    """Where webhooks may be sent to."""

    webhook_loopback: bool = False
    """True: webhooks may go to this machine, also over http. For tests and development only."""
