"""What ``hushgate doctor`` says about power failures and failovers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cli.doctor.durability import RedisNode, failover, power_failure
from cli.doctor.servers import UNKNOWN, _coverage
from db.sessions.settings import Durability

ALWAYS = RedisNode(aof=True, appendfsync="always", replicas=0, most_lag_s=0)
POSTGRES = Durability(
    fsync=True, full_page_writes=True, synchronous_commit="on", standby_names="", standbys=0
)


@pytest.mark.parametrize(
    ("redis", "postgres", "state", "found"),
    [
        ({}, {}, "ok", "Redis loses nothing, Postgres nothing"),
        ({"appendfsync": "everysec"}, {}, "warn", "Redis loses about a second of events, Postgres nothing"),
        (
            {"appendfsync": ""},
            {},
            "warn",
            "Redis loses an unknown part: CONFIG is forbidden, Postgres nothing",
        ),
        ({"aof": False}, {}, "warn", "Redis loses all events since its last snapshot, Postgres nothing"),
        ({}, {"fsync": False}, "warn", "Redis loses nothing, Postgres possibly the whole database"),
        (
            {},
            {"synchronous_commit": "off"},
            "warn",
            "Redis loses nothing, Postgres the decisions of its last moments, which are then decided again or"
            " missing",
        ),
    ],
)
def test_the_loss_by_a_power_failure_is_named(
    redis: dict[str, Any], postgres: dict[str, Any], state: str, found: str
) -> None:
    """That of the node of a cluster that loses most."""
    nodes = [ALWAYS, replace(ALWAYS, **redis)]
    check = power_failure(nodes, replace(POSTGRES, **postgres))

    assert (check.state, check.found) == (state, found)


def test_the_node_that_loses_most_is_named() -> None:
    """A node that synchronises every second does not hide one that has no append-only file."""
    nodes = [ALWAYS, replace(ALWAYS, appendfsync="everysec"), replace(ALWAYS, aof=False)]

    assert power_failure(nodes, POSTGRES).found.startswith("Redis loses all events since its last snapshot")


@pytest.mark.parametrize(
    ("settings", "state"),
    [(["no", "no"], "ok"), (["no", UNKNOWN], "warn"), (["yes", UNKNOWN], "fail"), (["no", "yes"], "fail")],
)
def test_the_coverage_of_a_cluster_that_forbids_config_is_unknown(settings: list[str], state: str) -> None:
    """It is not taken for right."""
    assert _coverage(settings).state == state


def test_as_many_replicas_are_advised_as_every_primary_has() -> None:
    """With fewer, the replica that is promoted may lack accepted events."""
    check = failover([replace(ALWAYS, replicas=2), replace(ALWAYS, replicas=2)], POSTGRES, 0)

    assert check.fix.startswith("HUSHGATE_PUBLISH_REPLICAS 2 or WAIT 2")


@pytest.mark.parametrize(
    ("redis", "postgres", "state", "found"),
    [
        ({}, {}, "ok", "Redis has no replica; Postgres has no standby"),
        (
            {"replicas": 1},
            {},
            "warn",
            "Redis loses what its replica does not have yet; Postgres has no standby",
        ),
        (
            {"replicas": 1, "most_lag_s": 10},
            {"standbys": 1},
            "warn",
            "Redis loses what its replica does not have yet, at most the last 10 s of writes; Postgres loses"
            " what its standby does not have yet",
        ),
        (
            {},
            {"standbys": 1, "standby_names": "*"},
            "ok",
            "Redis has no replica; Postgres loses nothing (synchronous_commit on)",
        ),
        (
            {},
            {"standbys": 1, "standby_names": "*", "synchronous_commit": "local"},
            "warn",
            "Redis has no replica; Postgres loses what its standby does not have yet",
        ),
    ],
)
def test_the_loss_by_a_failover_is_named(
    redis: dict[str, Any], postgres: dict[str, Any], state: str, found: str
) -> None:
    """Of each server by its own settings."""
    check = failover([replace(ALWAYS, **redis)], replace(POSTGRES, **postgres), 0)

    assert (check.state, check.found) == (state, found)


def test_a_cluster_loses_what_the_replicas_of_some_primaries_lack() -> None:
    """A primary without a replica is named beside those that have one."""
    check = failover([ALWAYS, replace(ALWAYS, replicas=1, most_lag_s=10)], POSTGRES, 0)

    assert check.state == "warn"
    assert check.found == (
        "Redis loses what its replica does not have yet, at most the last 10 s of writes;"
        " 1 of 2 Redis primaries have no replica; Postgres has no standby"
    )


def test_publishers_that_wait_for_replicas_lose_no_event() -> None:
    """Replies may still be lost, and more replicas than there are refuse every publisher."""
    copied = replace(ALWAYS, replicas=1)
    safe, refused = (failover([copied], POSTGRES, awaited) for awaited in (1, 2))

    assert (safe.state, safe.found) == (
        "warn",
        "Redis loses replies that its replica does not have yet;"
        " accepted events wait for 1 (HUSHGATE_PUBLISH_REPLICAS); Postgres has no standby",
    )
    assert (refused.state, refused.found) == (
        "fail",
        "HUSHGATE_PUBLISH_REPLICAS is 2, a Redis primary has 1 replicas: publishers are refused",
    )
