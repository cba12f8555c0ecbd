"""Fills open queues from the audit, and the queue of the sample data, while the server runs."""

from __future__ import annotations

from datetime import datetime

import structlog

from db.people.sample_data import tend_samples
from db.review_store import Store
from db.reviews import queue_filling, queues
from db.reviews.queues import Queue
from review.http.visit import Site
from worker.errors import is_outage

log = structlog.get_logger(__name__)


async def fill_all(site: Site) -> None:
    """Fill all open queues, and the queue of the sample data."""
    await fill_open(site.store, site.now())
    async with site.store.writing() as connection:
        await tend_samples(connection)


async def fill_open(store: Store, now: datetime) -> None:
    """Fill all open queues, each in its own transaction; a queue that cannot be filled stops no other."""
    async with store.reading() as connection:
        opened = await queues.list_open_queues(connection)
    for queue in opened:
        try:
            await fill(store, queue, now)
        except Exception as error:
            if is_outage(error):
                raise
            log.exception("queue_not_filled", queue=str(queue.id), exc_info=error)


async def fill(store: Store, queue: Queue, now: datetime) -> None:
    """Fill one queue."""
    async with store.writing() as connection:
        await queue_filling.fill_queue(connection, queue, now)
