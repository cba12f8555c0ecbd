"""A process that polls for webhooks until it is killed: ``python -m tests.support.webhook_process URL``."""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta

from db.pool import create_pool
from db.webhooks.queue import QueueLimits
from tasks.webhooks.poller import PollerLimits, WebhookPoller
from worker.adapters.system_clock import SystemClock
from worker.adapters.webhook_sender import WebhookSender

LEASE_S = 2.0


async def poll(url: str) -> None:
    """Poll with a short lease, so that a killed process's deliveries are soon due again."""
    limits = PollerLimits(queue=QueueLimits(lease=timedelta(seconds=LEASE_S)))
    now = SystemClock().now
    async with create_pool(url, size=4, application="webhooks") as source:
        sender = WebhookSender(loopback=True, now=now, limit_s=LEASE_S / 2)
        await WebhookPoller(source, sender, now=now, limits=limits).run()


if __name__ == "__main__":
    asyncio.run(poll(sys.argv[1]))
