"""A Celery task for publishers that already use Celery."""

from __future__ import annotations

import time
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

import structlog
from celery import shared_task
from celery.exceptions import Reject
from redis import Redis
from redis.exceptions import RedisClusterException, RedisError

from tasks.publishing.publish import append, checked, open_shards, written
from tasks.publishing.replicated import Replication
from tasks.shards.clients import connect_sync
from worker.errors import ConfigurationError, NotReplicated, StreamFull, StreamSealed
from worker.settings import Settings

log = structlog.get_logger(__name__)

PASSING: Final = (
    *(StreamFull, StreamSealed, NotReplicated),
    *(RedisError, RedisClusterException, OSError),  # the second is none of the first
)
"""Errors after which the event is published again."""
PAUSES_S: Final = (0.5, 1.0, 2.0)
"""Before each further try in one run of the task; after the last try the broker has the task again."""

TOO_DEEP: Final = b'"an event that is nested too deeply to be written"'
"""What is appended, and becomes a dead letter, in place of an event that only Celery's reader can hold."""


@shared_task(name="hushgate.publish", bind=True, ignore_result=False)
def publish_event(task: Any, event: Any) -> str:
    """Append one event to the stream; the id of its entry.

    Celery may run a task twice, so an event without an id takes the task's id. An invalid event is appended
    as well and becomes a dead letter: a publisher that does not wait for the task would lose it.

    Raises:
        PayloadRejected: the task fails with the reason when the event cannot become one.
        Reject: the stream takes no event now; the task goes back to the broker, as Celery acknowledges one
            that fails.
    """
    if isinstance(event, dict) and "specversion" not in event and event.get("event_id") is None:
        event = event | {"event_id": task.request.id}
    settings = task.app.hushgate_settings
    try:
        payload = written(event, _plain)
    except RecursionError:
        payload = TOO_DEEP
    entry_id = _append_patiently(settings, payload)
    checked(payload)
    return entry_id


def _plain(value: object) -> object:
    """What JSON can hold of the other values that Celery's serialiser restores; times are no such value."""
    match value:
        case datetime():
            return value.isoformat()
        case Decimal():
            return float(value)
        case bytes():
            return value.decode(errors="replace")
        case set() | frozenset() | tuple():
            return list(value)
    return str(value)


def _append_patiently(settings: Settings, payload: bytes) -> str:
    """Append, trying again after each of ``PAUSES_S``.

    Raises:
        Reject: no try succeeded.
    """
    pauses = iter(PAUSES_S)
    while True:
        try:
            with connect_sync(settings.redis_url.get_secret_value()) as redis:
                return _append(redis, settings, payload)
        except PASSING as error:
            log.warning("event_not_published", error=type(error).__name__)
            pause_s = next(pauses, None)
            if pause_s is None:  # no cause: it may quote the event
                raise Reject(type(error).__name__, requeue=True) from None
            time.sleep(pause_s)


def _append(redis: Redis, settings: Settings, payload: bytes) -> str:
    """Append to the shards that there are, also when the setting names another number than theirs."""
    if settings.shards is not None:
        try:
            open_shards(redis, settings.stream, settings.shards)
        except ConfigurationError as error:  # the stored number counts: the event must not be lost
            log.warning("shards_differ", error=str(error))
    replication = Replication.of(settings)
    (entry_id,) = append(redis, [payload], stream=settings.stream, replication=replication)
    return entry_id
