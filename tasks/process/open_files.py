"""How many files and connections a process may have open."""

from __future__ import annotations

import resource


def allow_many_connections() -> None:
    """Raise the soft limit of open files to the hard one.

    1,024 is common, and fewer than the connections of a worker with 1,000 events in flight: the calls beyond
    it fail.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
