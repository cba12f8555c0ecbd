"""Reports of browsers that stopped something: anybody may send them, so they are counted, not believed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

BETWEEN: Final = timedelta(minutes=1)
"""At most one line of the log in so long: a stranger must not fill it."""


@dataclass(slots=True, kw_only=True)
class Reports:
    """How many came since the last line of the log."""

    quiet_until: datetime | None = None
    untold: int = 0

    def came(self, now: datetime) -> int:
        """Count one more; how many to tell now, 0 when a line was written a moment ago."""
        self.untold += 1
        if self.quiet_until is not None and now < self.quiet_until:
            return 0
        told, self.untold, self.quiet_until = self.untold, 0, now + BETWEEN
        return told
