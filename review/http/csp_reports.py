"""Counts CSP reports of browsers: the sender is not authenticated, so their content is not used."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

LOG_INTERVAL: Final = timedelta(minutes=1)
"""At most one log line per interval, so that unauthenticated clients cannot fill the log."""


@dataclass(slots=True, kw_only=True)
class ReportCounter:
    """How many reports came since the last log line."""

    quiet_until: datetime | None = None
    unlogged: int = 0

    def count_report(self, now: datetime) -> int:
        """Count a report; how many to log now, 0 within ``LOG_INTERVAL`` of the last log line."""
        self.unlogged += 1
        if self.quiet_until is not None and now < self.quiet_until:
            return 0
        reports, self.unlogged, self.quiet_until = self.unlogged, 0, now + LOG_INTERVAL
        return reports
