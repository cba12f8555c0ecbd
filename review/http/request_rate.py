"""How many requests one key makes in a minute, in this process; for pages without a session."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

WINDOW: Final = timedelta(minutes=1)
MOST_KEYS: Final = 10_000
"""The oldest keys are forgotten beyond this, so that memory stays bounded."""


@dataclass(slots=True, kw_only=True)
class RequestRate:
    """Requests of each key since the start of its window.

    Attributes:
        most: requests of one key within ``WINDOW``.
    """

    most: int = 30
    counted: OrderedDict[str, tuple[datetime, int]] = field(default_factory=OrderedDict)

    def wait_s(self, key: str, now: datetime) -> int:
        """Count a request; whole seconds until the next one of this key is answered, 0 for now."""
        begun, count = self.counted.pop(key, (now, 0))
        if now >= begun + WINDOW:
            begun, count = now, 0
        self.counted[key] = (begun, count + 1)
        if len(self.counted) > MOST_KEYS:
            self.counted.popitem(last=False)
        return 0 if count < self.most else max(1, round((begun + WINDOW - now).total_seconds()))
