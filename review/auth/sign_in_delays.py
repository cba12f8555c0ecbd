"""The delay after failed sign-in attempts; pure."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import Final

from db.people.sign_ins import FailedTries

FREE_TRIES: Final = 5
FIRST_WAIT_S: Final = 30
LONGEST_WAIT_S: Final = 900
"""From the tenth failed attempt in a row: 30 s doubled five times, capped at 15 minutes."""
WINDOW: Final = timedelta(minutes=5)
FROM_ADDRESS: Final = 30
"""Failed attempts from one address in ``WINDOW``: an office behind one address has some."""
OVERALL: Final = 600
"""Failed attempts from everywhere in ``WINDOW``: two a second; each costs 50 ms of a core."""


def delay_s(tries: FailedTries, *, now: datetime, known_device: bool) -> int:
    """Seconds until the next attempt is checked; 0 for now.

    A browser that has signed in before is counted separately: strangers who guess cannot lock it out.
    """
    waits = [_in_a_row(tries, now)]
    if not known_device and (tries.from_address >= FROM_ADDRESS or tries.overall >= OVERALL):
        waits.append(int(WINDOW.total_seconds()))
    return max(waits)


def _in_a_row(tries: FailedTries, now: datetime) -> int:
    over = tries.in_a_row - FREE_TRIES
    if over < 0 or tries.last is None:
        return 0
    whole = min(FIRST_WAIT_S << min(over, 10), LONGEST_WAIT_S)
    return max(0, math.ceil(whole - (now - tries.last).total_seconds()))
