"""Stock Celery with a task that does nothing, as most people configure it."""

from __future__ import annotations

import os

from celery import Celery

app = Celery("noop", broker=os.environ.get("REDIS_URL"))
app.conf.task_ignore_result = True


@app.task(name="noop")  # type: ignore[untyped-decorator]  # Celery has no types
def noop(_event: dict[str, str]) -> None:
    """Do nothing with an event."""
