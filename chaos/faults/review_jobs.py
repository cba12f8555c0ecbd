"""Signals to the review pages while one of their jobs runs."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from functools import partial
from typing import Final

from psycopg import OperationalError

from chaos.faults.injection import Fault, Injection
from chaos.fleet.review_client import AskedJob
from chaos.kinds import JOB_SIGNALS, FaultKind, Role

BEGUN_S: Final = 30.0
LOOK_S: Final = 0.01
MOST_PAUSE_S: Final = 0.2
RUNNING: Final = "running"
SIGNALS: Final = {"kill": signal.SIGKILL, "term": signal.SIGTERM}


def break_job(way: str, injection: Injection) -> tuple[bool, list[str]]:
    """Ask for a job, and signal its server when it runs; it happened if the job had not ended by then.

    It did not happen where another fault has taken Postgres away meanwhile.
    """
    with suppress(OperationalError):
        return _broken(way, injection)
    return False, []


def _broken(way: str, injection: Injection) -> tuple[bool, list[str]]:
    world = injection.world
    world.until(injection.review_client.is_served, BEGUN_S)
    victim = next(iter(world.processes.of(Role.REVIEW)), None)
    job = None if victim is None else injection.review_client.ask()
    if victim is None or job is None or not _runs(injection, job):
        return False, []
    world.pause(injection.rng.uniform(0, MOST_PAUSE_S))
    if way == "stop":
        os.kill(victim.pid, signal.SIGSTOP)
        try:
            happened = injection.review_client.state(job) == RUNNING
            world.pause(world.plan.ttl_s + injection.duration_s())
        finally:
            os.kill(victim.pid, signal.SIGCONT)
        return happened, []
    try:
        ended = world.processes.end(victim.name, SIGNALS[way])
        happened = injection.review_client.state(job) == RUNNING
    finally:
        world.processes.start(victim.name)
    return ended and happened, []


def _runs(injection: Injection, job: AskedJob) -> bool:
    state = injection.review_client.state
    return bool(injection.world.until(lambda: state(job) == RUNNING, BEGUN_S, LOOK_S))


FAULTS: Final[dict[FaultKind, Fault]] = {kind: partial(break_job, way) for kind, way in JOB_SIGNALS.items()}
