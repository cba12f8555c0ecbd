"""A Celery task for publishers that already use Celery."""

from __future__ import annotations

import json
from typing import Any

from celery import shared_task

from tasks.publish import append, checked, open_shards
from tasks.shards.clients import connect_sync


@shared_task(name="hushgate.publish", bind=True, ignore_result=False)
def publish_event(task: Any, event: Any) -> str:
    """Append one event to the stream; the id of its entry.

    Celery may run a task twice, so an event without an id takes the task's id. An invalid event is appended
    as well and becomes a dead letter: a publisher that does not wait for the task would lose it.

    Raises:
        PayloadRejected: the task fails with the reason when the event cannot become one.
    """
    if isinstance(event, dict) and "specversion" not in event and event.get("event_id") is None:
        event = event | {"event_id": task.request.id}
    settings = task.app.hushgate_settings
    with connect_sync(settings.redis_url.get_secret_value()) as redis:
        payload = json.dumps(event).encode()
        if settings.shards is not None:
            open_shards(redis, settings.stream, settings.shards)
        (entry_id,) = append(redis, [payload], stream=settings.stream)
    checked(payload, most_bytes=settings.payload_bytes)
    return entry_id
