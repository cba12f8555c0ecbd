"""The Celery door: whatever a publisher sends becomes one entry of the stream."""

from __future__ import annotations

import json
from typing import Any

import pytest
from celery import Celery
from redis import Redis

from tasks import publishing
from worker.settings import Settings

TASK_ID = "task-1"


def entry(redis_url: str, sent: object) -> Any:
    """What stands on the stream after the task ran once."""
    celery = Celery("test", set_as_current=False)
    celery.hushgate_settings = Settings.model_validate(
        {
            "DATABASE_URL": "postgresql://nobody@localhost/none",
            "REDIS_URL": redis_url,
            "OPENAI_API_KEY": "k",
            "OPENROUTER_API_KEY": "k",
        }
    )
    task = celery.tasks[publishing.publish_event.name]
    task.apply(args=[sent], task_id=TASK_ID, throw=True)
    with Redis.from_url(redis_url) as redis:
        ((_, fields),) = redis.xrange("hushgate:events")
    return json.loads(fields[b"data"])


@pytest.mark.parametrize("absent", [{}, {"event_id": None}])
def test_an_event_without_an_id_takes_the_tasks(redis_url: str, absent: dict[str, Any]) -> None:
    """Celery may run a task twice, and both entries must be one event; null counts as none."""
    assert entry(redis_url, {"text": "a", **absent}) == {"text": "a", "event_id": TASK_ID}


@pytest.mark.parametrize(
    "sent",
    [
        {"event_id": "mine", "text": "a"},
        {"specversion": "1.0", "id": "cloud", "data": {}},
        {"event_id": "big", "metadata": {"n": 2**70}},
        {"event_id": "half", "text": "\ud800"},
        ["no", "event"],
        "no event",
        None,
    ],
)
def test_everything_else_is_passed_on_as_it_came(redis_url: str, sent: object) -> None:
    """What is no event is for the worker to bury, with its reason; here it would only be a failed task."""
    assert entry(redis_url, sent) == sent
