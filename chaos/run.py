"""One run: start, publish under faults, settle, observe, judge."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Final

import psycopg
from redis.exceptions import RedisError

from chaos.faults.injector import Injector
from chaos.fleet.check_client import CheckClient
from chaos.fleet.review_client import ReviewClient
from chaos.fleet.world import World, world
from chaos.kinds import FaultKind, Role
from chaos.laws import oracle
from chaos.laws.observations import EventKind, Observations
from chaos.load import Publisher
from chaos.observing.collect import DUE_WEBHOOKS, observe, unfinished, unfinished_entries
from chaos.observing.evidence import evidence
from chaos.observing.leaks import Growth
from chaos.observing.prompt_watch import PromptWatch
from chaos.observing.recovery import Recoveries
from chaos.plan import Plan
from chaos.reports.commit import commit_of_the_code
from chaos.reports.report import FaultCount, Report, recovery
from cli.deployment import loopback

START_S: Final = 180.0
SERVERS_END_S: Final = 4.0
SAY_S: Final = 10.0
LOOK_S: Final = 0.2
HEAL_S: Final = 120.0
MOST_PATIENCES: Final = 10
"""After so many patiences a run that moves without coming to its end is judged as it is."""
WEBHOOKS_S: Final = 35.0
"""The lease of a killed poller lives 30 s."""


@dataclass(slots=True)
class Run:
    """The parts of a run that watch and break the world."""

    world: World
    publisher: Publisher
    recoveries: Recoveries
    prompts: PromptWatch
    review_client: ReviewClient
    check_client: CheckClient
    injector: Injector
    growth: Growth
    say: Callable[[str], None]
    interrupted: bool = False
    stalled: bool = False
    said_s: float = 0.0


def run(plan: Plan, command: str, say: Callable[[str], None]) -> Report:
    """Run the plan; Ctrl-C ends publishing and faults, and what was seen until then is judged."""
    began = time.monotonic()
    with world(plan, say) as found:
        await_start(found, say)
        _leave_out_full_disks(found, say)
        parts = run_of(found, say)
        try:
            _load(parts)
        except KeyboardInterrupt:
            parts.interrupted = True
            say("interrupted: what was seen until now is judged")
        finally:
            found.stopping.set()  # no thread may start a server again while the world is taken down
        heal(parts)
        settle(parts)
        return judged(parts, observed(parts), command, time.monotonic() - began)


def run_of(found: World, say: Callable[[str], None]) -> Run:
    """The parts of a run, which publishes until the last fault has ended."""
    publisher = Publisher(found, lambda: injector.is_alive)
    recoveries, review_client = Recoveries(found), ReviewClient(found)
    injector = Injector(found, recoveries, review_client, lambda: len(publisher.ledger.entries))
    return Run(
        world=found,
        publisher=publisher,
        recoveries=recoveries,
        prompts=PromptWatch(found),
        review_client=review_client,
        check_client=CheckClient(found),
        injector=injector,
        growth=Growth(),
        say=say,
    )


def _leave_out_full_disks(found: World, say: Callable[[str], None]) -> None:
    """A disk of the run's own needs root; another one is not filled."""
    if not found.disk.is_own and found.plan.counts.get(FaultKind.DISK_FULL):
        say("full disks are left out: a disk of the run's own needs root and --disk-mb")
        counts = dict(found.plan.counts)
        del counts[FaultKind.DISK_FULL]
        found.plan = replace(found.plan, counts=counts)


def await_start(found: World, say: Callable[[str], None]) -> None:
    """Wait until every worker and both web servers answer."""
    say(f"waiting for {found.plan.workers} workers, deliverer, beat, gateway and review pages")

    def ready() -> bool:
        with found.redis as redis:
            beating = min(int(redis.scard(f"{each.prefix}workers")) for each in found.layout.current())
        return beating >= found.plan.workers and all(
            _answers(found.addresses[role]) for role in (Role.GATEWAY, Role.REVIEW)
        )

    if not found.until(ready, START_S, 0.2):
        tails = "\n".join(found.processes.tails())  # the files are deleted with the servers
        raise RuntimeError(f"the fleet did not start within {START_S:.0f} s:\n{tails}")


def _answers(address: str) -> bool:
    return loopback.status(f"{address}/healthz") == 200


def _load(parts: Run) -> None:
    """Publish under faults until both are done."""
    parts.publisher.thread.start()
    for thread in parts.injector.threads:
        thread.start()
    progress = Progress(parts)
    while parts.publisher.thread.is_alive() or parts.injector.is_alive:
        time.sleep(LOOK_S)
        look_after(parts)
        if progress.is_missing():
            return


class Progress:
    """Whether a run moves on: something is accepted, finished, or another fault begins."""

    def __init__(self, parts: Run) -> None:
        self._parts = parts
        self._seen: tuple[int, ...] = ()
        self._since_s = time.monotonic()

    def is_missing(self) -> bool:
        """Whether nothing changed for the plan's patience; the load is then to be ended as stalled."""
        parts, now_s = self._parts, time.monotonic()
        with suppress(RedisError, OSError):
            seen = (
                len(parts.publisher.ledger.entries),
                parts.injector.injected.total(),
                unfinished_entries(parts.world),
            )
            if seen != self._seen:
                self._seen, self._since_s = seen, now_s
        if now_s - self._since_s <= parts.world.plan.patience_s:
            return False
        parts.say(f"no progress for {parts.world.plan.patience_s:.0f} s: the load ends here")
        parts.stalled = True
        return True


def look_after(parts: Run) -> None:
    """Restart what ended, sample memory, and say how far the run is."""
    parts.world.processes.restart_ended()
    if time.monotonic() - parts.said_s < SAY_S:
        return
    parts.said_s = time.monotonic()
    parts.world.processes.sample_memory()
    left = "?"
    with suppress(RedisError, psycopg.Error, OSError):
        left = str(unfinished(parts.world)["entries on the stream"])
    published = len(parts.publisher.ledger.entries)
    faults = parts.injector.happened.total()
    parts.say(f"{published:,} of {parts.world.plan.events:,} published, {left} unfinished, {faults} faults")


def heal(parts: Run) -> None:
    """End every fault and every thread that makes some."""
    parts.world.stopping.set()
    parts.world.processes.restart_ended()
    for thread in (*parts.injector.threads, parts.publisher.thread, parts.check_client.thread):
        if thread.ident is not None:
            _join(parts, thread)
    parts.world.disk.free()
    if parts.interrupted:  # Ctrl-C is for every process of the terminal: servers and sandbox are ending
        time.sleep(SERVERS_END_S)
        parts.world.restart_sandbox()
    parts.world.stack.restart_ended()
    parts.world.network.heal()
    parts.world.sandbox.drop_rules()
    parts.world.processes.restart_ended()
    for each in parts.world.processes.managed.values():
        if each.expected and not each.lives:  # a fault ended it, and was interrupted
            parts.world.processes.start(each.name)


def _join(parts: Run, thread: threading.Thread) -> None:
    """Wait for a thread's end; meanwhile, processes that crash are counted and restarted."""
    end_s = time.monotonic() + HEAL_S
    while thread.is_alive() and time.monotonic() < end_s:
        thread.join(LOOK_S)
        parts.world.processes.restart_ended()
    if thread.is_alive():
        parts.injector.failed.append(f"{thread.name}: it did not end within {HEAL_S:.0f} s")


def settle(parts: Run) -> None:
    """Wait while the fleet makes progress; what is left after a long time without any is stuck."""
    patience_s = parts.world.plan.patience_s
    before, began_s = {"": 0}, time.monotonic()
    moved_s = began_s
    while time.monotonic() < min(moved_s + patience_s, began_s + MOST_PATIENCES * patience_s):
        look_after(parts)
        with suppress(RedisError, psycopg.Error, OSError):
            left = unfinished(parts.world)
            if not any(left.values()):
                break
            if left != before:
                before, moved_s = left, time.monotonic()
        time.sleep(LOOK_S)
    _await_webhooks(parts)
    parts.recoveries.stop()
    parts.prompts.stop()


def _await_webhooks(parts: Run) -> None:
    """Wait while webhooks that are due arrive."""

    def none_due() -> bool:
        look_after(parts)
        return bool(parts.world.rows(DUE_WEBHOOKS)[0][0] == 0)

    before, end_s = -1, time.monotonic() + MOST_PATIENCES * parts.world.plan.patience_s
    while (requests := parts.world.receiver.requests) != before and time.monotonic() < end_s:
        before = requests
        if parts.world.until(none_due, WEBHOOKS_S):
            return


def observed(parts: Run) -> Observations:
    """What a run saw; a load that had to be ended is stuck."""
    seen = observe(
        parts.world,
        parts.publisher.ledger,
        parts.prompts,
        parts.review_client,
        parts.check_client,
        parts.growth,
    )
    left = {**seen.left, "load that made no progress": int(parts.stalled)}
    parts.world.processes.restart_ended()
    return replace(seen, left=left, ended=dict(parts.world.processes.ended))


def judged(parts: Run, seen: Observations, command: str, seconds: float) -> Report:
    """The report of what a run saw."""
    plan, injector = parts.world.plan, parts.injector
    found = oracle.breaches(seen)
    return Report(
        command=command,
        commit=commit_of_the_code(),
        seed=plan.seed,
        interrupted=parts.interrupted,
        seconds=round(seconds, 1),
        load_average=round(os.getloadavg()[1], 1),
        figures=_figures(parts, seen),
        faults={
            str(kind): FaultCount(
                planned=plan.planned[kind],
                injected=injector.injected[kind],
                happened=injector.happened[kind],
                recovery=recovery(parts.recoveries.took_s[kind]),
            )
            for kind in FaultKind
            if plan.planned[kind]
        },
        breaches=found,
        violations={law: len(sentences) for law, sentences in found.items()},
        grown=asdict(parts.growth) | {"ended without a signal": dict(parts.world.processes.ended)},
        failed=(*injector.failed, *parts.world.processes.last_lines),
        evidence=tuple(evidence(parts.world, found, injector.timeline)),
        unpublished=max(0, plan.events - len(seen.entries)),
    )


def _figures(parts: Run, seen: Observations) -> dict[str, int]:
    kinds = [event.kind for event in seen.published.values()]
    return {
        "published events": len(kinds) - kinds.count(EventKind.MALFORMED),
        "published malformed payloads": kinds.count(EventKind.MALFORMED),
        "accepted entries": len(seen.entries),
        "of them by HTTP": parts.publisher.ledger.by_http,
        "attempts without an answer": seen.unacknowledged_total,
        "decided": len(seen.decisions),
        "duplicates": len(seen.duplicates),
        "dead letters": len(seen.dead),
        "replies": len(seen.replies),
        "escalations": sum(not each.closed for each in seen.escalations),
        "takeovers": len(seen.taken),
        "webhooks": len(seen.webhooks),
        "webhooks that came again": parts.world.receiver.again,
        "webhooks for a later attempt": len(seen.webhooks_later),
        "webhooks cancelled": len(seen.webhooks_cancelled),
        "review jobs": len(seen.jobs),
        "checks": len(seen.checks),
        "checks asked again without a verdict": parts.check_client.unanswered,
        "prompts looked at": parts.prompts.looked_at,
        "prompts missed": seen.prompts_missed,
        "faults": parts.injector.happened.total(),
    }
