"""Garbage in cycles leaves beat within its interval, however old it is."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Final

import pytest

BEAT: Final = """
import time
from celery.signals import beat_init
from dataclasses import replace
from features import jobs
from tasks import app
from tests.support.garbage import old_garbage

jobs.JOBS = tuple(replace(job, every_s=0.05) for job in jobs.JOBS if job.name == "beat_garbage")
app.sign_beat = lambda *_: None
beat_init.send(None)
found = old_garbage()
deadline = time.monotonic() + 20
while found() is not None and time.monotonic() < deadline:
    time.sleep(0.01)
raise SystemExit(found() is not None)
"""
SETTINGS: Final = {
    "DATABASE_URL": "postgresql://127.0.0.1:1/none",
    "REDIS_URL": "redis://127.0.0.1:1/0",
    "OPENAI_API_KEY": "none",
    "OPENROUTER_API_KEY": "none",
    "HUSHGATE_ALERTS_EVERY_S": "0",
    "HUSHGATE_FEATURES": "none",
}


@pytest.mark.slow
def test_beat_collects_what_its_threads_leave() -> None:
    """A check that failed leaves its error and its loop in cycles, also without alerts and shadows."""
    ended = subprocess.run(
        [sys.executable, "-c", BEAT], env=os.environ | SETTINGS, capture_output=True, timeout=60, check=False
    )

    assert ended.returncode == 0, ended.stderr.decode()[-2000:]
