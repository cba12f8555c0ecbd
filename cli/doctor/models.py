"""``hushgate doctor``: the model servers, the judge, and what workers report of their upstreams."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from typing import Final

import psycopg

from cli.doctor.check import DoctorCheck, failed, passed, warned
from cli.options import with_pool, with_redis
from db.model_servers.stored import load_servers
from tasks.alerts.situation import MOST_SKEW_S, Situation
from tasks.limits.upstream_reports import UpstreamReport, WorkerReport, load_reports
from worker.adapters.circuit_breaker import BreakerState
from worker.errors import StorageUnavailable
from worker.model import AttemptOutcome
from worker.reasons import Reason
from worker.settings import Settings, StoredServer

CHECK = "models"
CONNECT = (
    "connect a model on the page Connect, or set these variables for every process; workers wait until then"
)
KEY = (
    "give workers and review pages the same HUSHGATE_SECRETS_KEY, or enter the key on the page Connect again"
)


def connected_models(settings: Settings) -> tuple[Settings, DoctorCheck]:
    """The settings with the servers that are stored, and whether events can be decided with them."""
    stored = _stored(settings)
    unreadable = [each.role.value for each in stored if each.unreadable]
    settings = settings.with_stored(stored)
    if unreadable:
        return settings, failed(CHECK, f"the stored key of {', '.join(unreadable)} does not open", KEY)
    if (problem := settings.models_problem) is not None:
        return settings, failed(CHECK, problem, CONNECT)
    server = settings.servers.model
    where = "; servers of the page Connect, where no variable names one" if stored else ""
    return settings, passed(CHECK, f"{server.model} of {server.url}{where}")


def _stored(settings: Settings) -> tuple[StoredServer, ...]:
    """The stored servers; none while Postgres does not answer, which its own check says."""
    load = partial(load_servers, key=settings.secrets_key)
    try:
        return with_pool(load, settings.database_url.get_secret_value())
    except (psycopg.Error, StorageUnavailable, OSError):
        return ()


def upstream_checks(settings: Settings) -> Iterator[DoctorCheck]:
    """One check of each upstream that a running worker calls, and one of their clocks."""
    found: dict[str, list[UpstreamReport]] = defaultdict(list)
    reports = with_redis(settings, lambda redis: load_reports(redis, settings.stream))
    if reports:
        yield _clock_check(reports)
    for report in reports:
        for each in report.upstreams:
            found[each.upstream].append(each)
    for upstream, in_workers in sorted(found.items()):
        yield _upstream_check(upstream, in_workers, held=sum(report.held for report in reports))


def _upstream_check(upstream: str, found: list[UpstreamReport], held: int) -> DoctorCheck:
    """A failed call counts where the next one is not made, or would fail alike."""
    closed = sum(each.state == BreakerState.CLOSED for each in found)
    wrong = [each for each in found if each.trouble == AttemptOutcome.MISCONFIGURED]
    bad = [*wrong, *(each for each in found if each.state != BreakerState.CLOSED)]
    what = f"called by {closed} of {len(found)} workers"
    if closed < len(found):
        what += f"; breaker open in {len(found) - closed}"
    if not bad:
        return passed(f"upstream {upstream}", what)
    failure, _, fix = bad[0].problem.partition("; ")
    what += f"; last call of a worker, until its next one: {failure.partition(': ')[2] or 'none'}"
    if held and bad[0].holds_events:
        what += f"; {held} events wait in workers"
    state = failed if wrong and bad[0].holds_events else warned
    return state(f"upstream {upstream}", what, fix)


def _clock_check(reports: tuple[WorkerReport, ...]) -> DoctorCheck:
    wrong = [
        f"{each.worker} {abs(each.ahead_s):.1f} s {'ahead of' if each.ahead_s > 0 else 'behind'}"
        for each in reports
        if abs(each.ahead_s) > MOST_SKEW_S
    ]
    shown = f"{', '.join(wrong)} the clock of Postgres" if wrong else "as the clock of Postgres"
    fix = "run NTP on these machines (docs/alerts.md, HushgateClockWrong)"
    return warned("worker clocks", shown, fix, unless=not wrong)


JUDGE_CHECK: Final = "judge"
READ_OR_HELD: Final = frozenset({Reason.REPLIED, Reason.PARTIAL_REPLY, Reason.HELD_UNREAD})
FREQUENT: Final = 0.1
"""Share of drafts without a reading that is a warning: single calls of a model always fail."""


def judge_check(settings: Settings, now: Situation) -> DoctorCheck:
    """The judge's line; without Postgres without its figures."""
    drafts = sum(each.events for each in now.counts if each.recent and each.reason_code in READ_OR_HELD)
    held = sum(each.events for each in now.counts if each.recent and each.reason_code == Reason.HELD_UNREAD)
    lately = f"{held} drafts held unread in the last 15 minutes" if now.fleet.stored else "figures unknown"
    if (judge := settings.servers.judge) is None:
        found = "off: drafts that are not copied from a passage wait for people"
        return warned(JUDGE_CHECK, f"{found}; {lately}", "set another HUSHGATE_JUDGE and restart the workers")
    found = f"{judge.model} ({judge.named_by.variable}) reads each draft once; {lately}"
    if held < FREQUENT * drafts or not held:
        return passed(JUDGE_CHECK, found)
    fix = (
        "these drafts wait for people; the page of one says why it was not read: hushgate decisions list"
        " --since 15m --reason HELD_UNREAD; hushgate doctor --live calls the judge"
    )
    return warned(JUDGE_CHECK, found, fix)
