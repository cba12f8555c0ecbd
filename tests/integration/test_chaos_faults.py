"""What counts as evidence that a fault of a chaos run happened."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import psycopg
import pytest

from chaos.faults.servers import NEXT_TRANSACTION, shifted
from chaos.plan import Plan
from chaos.world import World
from cli.stack import Stack

DECIDED = (
    "INSERT INTO event_keys (user_id, event_id, entry_id, created_at)"
    " VALUES ('shop', %s, %s, now() + make_interval(secs => %s))"
)


class Database(World):
    """A database without processes."""

    def __init__(self, database_url: str) -> None:
        """Take a database that runs."""
        self.plan = Plan(events=1, workers=1, seed=1, counts={})
        self.stack = cast("Stack", SimpleNamespace(database_url=database_url))


@pytest.mark.parametrize("offset_s", [-600, -60, 60, 600])
def test_a_clock_jump_is_seen_in_decisions_since_the_jump_only(database_url: str, offset_s: int) -> None:
    """A decision that is a minute old is none of a clock that is a minute behind."""
    world = Database(database_url)
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("TRUNCATE event_keys")
        connection.execute(DECIDED, ("old", "1-0", offset_s - 5))
        since = world.rows(NEXT_TRANSACTION)[0][0]
        connection.execute(DECIDED, ("ordinary", "2-0", 0))

        assert shifted(world, offset_s, since) == 0

        connection.execute(DECIDED, ("shifted", "3-0", offset_s))

    assert shifted(world, offset_s, since) == 1
