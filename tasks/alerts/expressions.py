"""The longer expressions of PromQL; the same conditions as ``tasks.alerts.conditions``."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from db.fleet.recent import AHEAD, PAST_DAYS, PAST_SPAN, RECENT
from tasks.alerts.conditions import MODEL_FAILED, MOST_DEGRADED, SILENT, STALLED_S, TASKS_LATE_S
from tasks.alerts.unusual import FACTOR, MINIMUM, PRIOR_EVENTS, PRIOR_MATCHED
from tasks.metrics.names import ACCOUNT_EVENTS_DECIDED, BEAT_AGE, EVENTS_DECIDED, TASKS_AGE
from tasks.metrics.names import DEGRADED as DEGRADED_EVENTS

WINDOW: Final = f"{RECENT.total_seconds():.0f}s"


def _recent(series: str, by: str) -> str:
    return f"sum{by}(increase({series}[{WINDOW}]))"


def _past(series: str, by: str) -> str:
    """The sum over the past days; a day without samples counts as 0."""
    span = f"{PAST_SPAN.total_seconds():.0f}s"
    days = (
        f"sum{by}(increase({series}[{span}] offset {_offset_s(day)}s))" for day in range(1, PAST_DAYS + 1)
    )
    return " + ".join(f"({day} or {_recent(series, by)} * 0)" for day in days)


def _offset_s(day: int) -> int:
    return int((timedelta(days=day) - AHEAD).total_seconds())


def unusual(matched: str, events: str, by: str = "") -> str:
    """The condition of ``tasks.alerts.unusual.is_unusual`` on two series of counters."""
    usual = f"(({_past(matched, by)}) + {PRIOR_MATCHED}) / (({_past(events, by)}) + {PRIOR_EVENTS})"
    recent = _recent(matched, by)
    share = f"{recent} / {_recent(events, by)}"
    return f"{recent} >= {MINIMUM} and ({share} > {FACTOR} * ({usual}) or {share} > (1 + ({usual})) / 2)"


def _of(reasons: Iterable[str]) -> str:
    return f'{EVENTS_DECIDED.name}{{reason_code=~"{"|".join(sorted(reasons))}"}}'


NOTHING_DECIDED: Final = (
    f"hushgate_oldest_entry_age_seconds > {STALLED_S}"
    f" unless on() sum(increase({EVENTS_DECIDED.name}[{STALLED_S}s])) > 0"
)
TASKS_NOT_RUN: Final = f"{BEAT_AGE.name} > {TASKS_LATE_S} or {TASKS_AGE.name} > {TASKS_LATE_S}"
DEGRADED: Final = (
    f"{_recent(DEGRADED_EVENTS.name, '')} >= {MINIMUM}"
    f" and {_recent(DEGRADED_EVENTS.name, '')} > {MOST_DEGRADED} * {_recent(EVENTS_DECIDED.name, '')}"
)
MODEL_ERRORS: Final = unusual(_of(MODEL_FAILED), EVENTS_DECIDED.name)
SILENT_FAILURES: Final = unusual(_of(SILENT), EVENTS_DECIDED.name)
FREQUENT_BLOCKS: Final = unusual(
    f'{ACCOUNT_EVENTS_DECIDED.name}{{blocked="true",account!="other"}}',
    f'{ACCOUNT_EVENTS_DECIDED.name}{{account!="other"}}',
    " by (account) ",
)
