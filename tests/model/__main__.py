"""``python -m tests.model [ENTRIES]``: every state of a small fleet, then the planted mistakes."""

from __future__ import annotations

import sys
import time

from tests.model.explore import Exploration, explore
from tests.model.steps import Breach, Model

WORKERS = 3
ENTRIES = 4


def main() -> int:
    """Print what was found; 1 when an invariant does not hold, or a planted mistake is not noticed."""
    entries = int(sys.argv[1]) if len(sys.argv) > 1 else ENTRIES
    started = time.process_time()
    found = explore(WORKERS, Model(entries=entries))
    print(f"{WORKERS} workers, 2 conversations, {entries} entries: {found.states:,} states, "
          f"{sum(found.steps.values()):,} steps, {time.process_time() - started:.0f} s")  # fmt: skip
    report(found)
    missed = 0
    for breach in Breach:
        planted = explore(WORKERS, Model(entries=2, breach=breach))
        print(f"\nplanted: {breach}")
        report(planted)
        missed += not planted.broken
    return int(bool(found.broken or missed))


def report(found: Exploration) -> None:
    """The invariant that is broken, with the shortest trace."""
    print(f"broken: {found.broken or 'nothing'}")
    for number, step in enumerate(found.trace, 1):
        print(f"  {number}. {step}")


if __name__ == "__main__":
    sys.exit(main())
