"""The door for publishers that already speak Celery."""

from __future__ import annotations

import json
from typing import Any

from celery import shared_task
from redis import Redis

from tasks.publish import publish


@shared_task(name="hushgate.publish", bind=True, ignore_result=False)
def publish_event(task: Any, event: Any) -> str:  # noqa: ANN401  # Celery's own loose types, any JSON
    """Append one event to the stream; the id of its entry. What is no event becomes a dead letter there.

    Celery may run a task twice, so an event without an id of its own takes the task's.
    """
    if isinstance(event, dict) and "specversion" not in event and event.get("event_id") is None:
        event = event | {"event_id": task.request.id}
    settings = task.app.hushgate_settings
    with Redis.from_url(settings.redis_url.get_secret_value(), socket_timeout=10) as redis:
        return publish(redis, json.dumps(event).encode(), stream=settings.stream)
