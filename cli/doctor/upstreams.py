"""``hushgate doctor``: what running workers report of their upstreams and their clocks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from cli.doctor.check import DoctorCheck, failed, passed, warned
from cli.options import with_redis
from tasks.alerts.situation import MOST_SKEW_S
from tasks.limits.upstream_reports import UpstreamReport, WorkerReport, load_reports
from worker.adapters.circuit_breaker import BreakerState
from worker.model import AttemptOutcome
from worker.settings import Settings


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
    what += f"; last call of a worker: {failure.partition(': ')[2] or 'none'}"
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
