"""The door for publishers that already speak Celery."""

from __future__ import annotations

from typing import Any

from celery import shared_task
from redis import Redis

from tasks.publish import publish


@shared_task(name="hushgate.publish", bind=True, ignore_result=False)
def publish_event(task: Any, event: dict[str, Any]) -> str:  # noqa: ANN401  # Celery's own loose types
    """Append one event to the stream; the id of its entry.

    Celery may run a task twice, so an event without an id of its own takes the task's.
    """
    if "specversion" not in event:
        event = {"event_id": task.request.id} | event
    settings = task.app.hushgate_settings
    with Redis.from_url(settings.redis_url.get_secret_value(), socket_timeout=10) as redis:
        return publish(redis, event, stream=settings.stream)
