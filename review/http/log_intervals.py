"""What is logged at most once a minute: parts and refreshes of pages, and CSP reports of browsers."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from worker.recent import Recent

LOG_INTERVAL: Final = timedelta(minutes=1)
MOST_READINGS: Final = 10_000


@dataclass(slots=True, kw_only=True)
class LoggedReadings:
    """When each person's reading was last logged, by the query of a list or the name of a page."""

    logged_at: Recent[tuple[UUID, str], datetime] = field(default_factory=lambda: Recent(MOST_READINGS))

    def note(self, person_id: UUID, query: str, now: datetime) -> bool:
        """Note a reading; False within ``LOG_INTERVAL`` of the person's last one, which was logged."""
        last = self.logged_at.get((person_id, query))
        if last is not None and abs(now - last) < LOG_INTERVAL:  # the clock may be set back
            return False
        self.logged_at.keep((person_id, query), now)
        return True


@dataclass(slots=True, kw_only=True)
class ReportCounter:
    """CSP reports since the last log line; senders are not authenticated, so their content is not used."""

    quiet_until: datetime | None = None
    unlogged: int = 0

    def count_report(self, now: datetime) -> int:
        """Count a report; how many to log now, 0 within ``LOG_INTERVAL`` of the last log line."""
        self.unlogged += 1
        if self.quiet_until is not None and now < self.quiet_until:
            return 0
        reports, self.unlogged, self.quiet_until = self.unlogged, 0, now + LOG_INTERVAL
        return reports
