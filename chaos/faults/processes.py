"""Signals to processes."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from functools import partial
from typing import Final

import psutil

from chaos.faults.injection import Fault, Injection
from chaos.fleet.check_client import CHECKS
from chaos.fleet.processes import Managed
from chaos.fleet.proxy import Link
from chaos.fleet.world import POSTGRES, Interrupted
from chaos.kinds import PROCESS_SIGNALS, FaultKind, Role

READY_S: Final = 20.0
SIGNALS: Final = {"kill": signal.SIGKILL, "term": signal.SIGTERM}
CUT_OFF_S: Final = 0.6


def end_process(role: Role, number: signal.Signals, injection: Injection) -> tuple[bool, list[str]]:
    """SIGKILL or SIGTERM to a process, and its replacement."""
    victim = _victim(role, injection)
    if victim is None:
        return False, []
    entries = injection.recoveries.pending(victim.pid)
    happened = injection.world.processes.end(victim.name, number)
    injection.world.processes.start(victim.name)
    return happened, entries


def stop_process(role: Role, injection: Injection) -> tuple[bool, list[str]]:
    """SIGSTOP to a process for longer than its heartbeat lives, then SIGCONT."""
    victim = _victim(role, injection)
    if victim is None:
        return False, []
    entries = injection.recoveries.pending(victim.pid)
    os.kill(victim.pid, signal.SIGSTOP)
    try:
        injection.world.pause(injection.world.plan.ttl_s + injection.duration_s())
        happened = psutil.Process(victim.pid).status() == psutil.STATUS_STOPPED
        return happened, entries
    finally:
        os.kill(victim.pid, signal.SIGCONT)


def kill_cut_off(injection: Injection) -> tuple[bool, list[str]]:
    """SIGKILL to a worker that receives no answers from Postgres any more: it committed and does not know."""
    victim = _victim(Role.WORKER, injection)
    if victim is None:
        return False, []
    network, link = injection.world.network, injection.world.link(victim.name, POSTGRES)
    before = link.held_bytes
    entries = injection.recoveries.pending(victim.pid)
    try:
        network.call(partial(_hold_answers, link))
        injection.world.pause(CUT_OFF_S)
        killed = injection.world.processes.end(victim.name, signal.SIGKILL)
    finally:
        held = link.held_bytes - before
        network.call(link.open_again)
    injection.world.processes.start(victim.name)
    return killed and held > 0, entries


def _hold_answers(link: Link) -> None:
    link.holds_answers = True


def _victim(role: Role, injection: Injection) -> Managed | None:
    """A process of the role that works now: a worker with an event, a gateway with a check; None without."""
    world = injection.world
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline:
        living = world.processes.of(role)
        busy = living
        if role is Role.WORKER:
            with suppress(OSError):
                busy = [each for each in living if injection.recoveries.pending(each.pid)]
        if role is Role.GATEWAY:
            busy = living if world.under_way[CHECKS] else []
        if busy:
            return injection.rng.choice(busy)
        try:
            world.pause(0.1)
        except Interrupted:
            return None
    return None


def _fault(kind: FaultKind) -> Fault:
    role, way = PROCESS_SIGNALS[kind]
    return partial(stop_process, role) if way == "stop" else partial(end_process, role, SIGNALS[way])


FAULTS: Final[dict[FaultKind, Fault]] = {
    **{kind: _fault(kind) for kind in PROCESS_SIGNALS},
    FaultKind.CUT_OFF_KILL: kill_cut_off,
}
