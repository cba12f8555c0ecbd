"""``hushgate doctor``: what running workers report of their upstreams and their clocks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from cli.doctor.check import DoctorCheck, warned
from cli.options import with_redis
from tasks.alerts.situation import MOST_SKEW_S
from tasks.limits.upstream_reports import WorkerReport, load_reports
from worker.adapters.circuit_breaker import BreakerState
from worker.settings import Settings

FIX: Final = (
    "see that its server works (hushgate doctor --live); it is called again after its next probe; the log has"
    " breaker_changed"
)


def upstream_checks(settings: Settings) -> Iterator[DoctorCheck]:
    """One check of each upstream that a running worker calls, and one of their clocks."""
    states: dict[str, list[str]] = defaultdict(list)
    reports = with_redis(settings, lambda redis: load_reports(redis, settings.stream))
    if reports:
        yield _clock_check(reports)
    for report in reports:
        for each in report.upstreams:
            states[each.upstream].append(each.state)
    for upstream, found in sorted(states.items()):
        closed = found.count(BreakerState.CLOSED)
        what = f"called by {closed} of {len(found)} workers"
        if closed < len(found):
            what += f"; breaker open in {len(found) - closed}"
        yield warned(f"upstream {upstream}", what, FIX, unless=closed == len(found))


def _clock_check(reports: tuple[WorkerReport, ...]) -> DoctorCheck:
    wrong = [
        f"{each.worker} {abs(each.ahead_s):.1f} s {'ahead of' if each.ahead_s > 0 else 'behind'}"
        for each in reports
        if abs(each.ahead_s) > MOST_SKEW_S
    ]
    shown = f"{', '.join(wrong)} the clock of Postgres" if wrong else "as the clock of Postgres"
    fix = "run NTP on these machines (docs/alerts.md, HushgateClockWrong)"
    return warned("worker clocks", shown, fix, unless=not wrong)
