"""The memory of one worker with 5,000 events in flight, each of which waits for its completion.

``python -m bench.in_flight``; needs 12,000 open files (``ulimit -n``) for worker and sandbox.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict

from redis import Redis

from bench.engine import OUT, pipeline
from cli.stack import Stack

EVENTS = 5_000
PLACES = 5_600
"""One place in ten is kept for accounts with few lanes; all events are of one account."""
COMPLETION_S = 90.0
"""Long enough that all events wait at once, on a slow machine too."""


def main() -> None:
    """Print the result as JSON."""
    OUT.parent.mkdir(exist_ok=True)
    os.environ["HUSHGATE_MODEL_TIMEOUT_S"] = "600"
    with Stack() as stack, Redis.from_url(stack.redis_url) as redis:
        found = pipeline(redis, stack, events=EVENTS, in_flight=PLACES, completion_s=COMPLETION_S)
    print(json.dumps(asdict(found)))


if __name__ == "__main__":
    main()
