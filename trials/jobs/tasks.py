"""The periodic task of rollouts."""

from __future__ import annotations

from typing import Any, Final

from celery import shared_task

from tasks.maintenance import runtime_of
from trials.jobs.rollout_guard import CheckRests, watch_rollouts

SCHEDULE: Final = {
    "rollouts": {"task": "hushgate.rollouts", "schedule": 15.0, "options": {"expires": 15}},
}


@shared_task(name="hushgate.rollouts", bind=True)
def rollouts(task: Any) -> None:
    """Return rollouts whose candidate left its bounds."""
    runtime = runtime_of(task)
    rests = CheckRests(redis=runtime.parts.redis, stream=task.app.hushgate_settings.stream)
    runtime.call(watch_rollouts(runtime.parts.pool, runtime.now(), rests))
