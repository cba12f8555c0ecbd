"""Alerts that begin and end are posted once each, and the login of the review pages is enough."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
import sentry_sdk
from redis import Redis

from db.schema import logins
from db.schema.logins import LOGINS, Service
from tasks.alerts import watch
from tasks.alerts.watch import AlertWatch, alerts_key
from tasks.fleet.beats import beats_key
from tasks.process import telemetry
from tests.support.fleet_signs import STREAM, sign_fleet
from tests.support.http_server import Answer, Asked, http_server
from tests.support.running import eventually
from tests.support.terminal import Shell, shell_at
from worker.cancellation import cancel_all
from worker.settings import FleetSettings

MISSING: Final = "HushgateWorkersMissing"
PATH: Final = "/services/hunter2-token"


@dataclass
class Receiver:
    """What was posted, and the status that the receiver answers."""

    url: str = ""
    status: int = 200
    posted: list[dict[str, Any]] = field(default_factory=list)

    def of(self, alert: str) -> list[str]:
        """The states of this alert, in order."""
        return [body["state"] for body in self.posted if body["alert"] == alert]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A receiver of webhooks on loopback; the bodies that its answers announce never come."""
    found = Receiver()

    def answer(asked: Asked) -> Answer:
        if found.status == 200:
            found.posted.append(asked.json)
        return found.status, {"Location": "/elsewhere", "Content-Length": "100000"}, b""

    with http_server(answer) as (url, _):
        found.url = f"{url}{PATH}"
        yield found


@pytest.fixture
def review_url(database_url: str) -> str:
    """The database with the login of the review pages."""
    logins.ensure(database_url, {})
    return logins.url_of(database_url, LOGINS[Service.REVIEW], "")


@pytest.fixture
def shell(review_url: str, redis_url: str, receiver: Receiver, tmp_path: Path) -> Shell:
    """A shell whose servers run, without workers."""
    return shell_at(
        tmp_path, DATABASE_URL=review_url, REDIS_URL=redis_url, HUSHGATE_ALERTS_WEBHOOK=receiver.url
    )


def hour_ago(redis_url: str) -> None:
    """Let every known alert have begun an hour ago."""
    with Redis.from_url(redis_url) as redis:
        for name, state in redis.hgetall(alerts_key(STREAM)).items():
            values = json.loads(state)
            values["since"] = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
            redis.hset(alerts_key(STREAM), name, json.dumps(values))


@pytest.mark.usefixtures("restored_logging")
def test_an_alert_is_posted_when_it_began_and_when_it_ended(
    shell: Shell, redis_url: str, receiver: Receiver
) -> None:
    """Not before its minutes are over, not at each run, and again only when the receiver refused it."""
    counts, said = [], []
    for status in (200, 307, 200, 200):
        receiver.status = status
        ended = shell.run("alerts", "check", "--post")
        counts.append(receiver.of(MISSING))
        said.append("alert_not_posted" in ended.err)
        hour_ago(redis_url)
    sign_fleet(redis_url)
    for _ in range(2):
        shell.run("alerts", "check", "--post")

    assert counts == [[], [], ["firing"], ["firing"]]
    assert receiver.of(MISSING) == ["firing", "resolved"]
    assert len({body["key"] for body in receiver.posted if body["alert"] == MISSING}) == 1
    assert receiver.posted[0]["found"] == ["0 workers have a heartbeat, 1 are expected"]
    assert MISSING in ended.out
    assert "hunter2" not in ended.out + ended.err
    assert said == [False, True, False, False]


def settings_of(shell: Shell, **changes: Any) -> FleetSettings:
    return FleetSettings.model_validate(dict(shell.environment)).model_copy(update=changes)


async def test_a_process_that_watches_posts_once(
    shell: Shell, receiver: Receiver, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As beat does; what it knows outlives an outage of Redis, and a restart."""
    hour_ago(redis_url)
    settings = settings_of(shell, alerts_every_s=0.05)
    await asyncio.to_thread(AlertWatch(settings).check)
    hour_ago(redis_url)
    monkeypatch.setattr(watch, "load", lambda _: settings)
    work = asyncio.ensure_future(watch.watch_alerts(settings))
    await asyncio.to_thread(eventually, lambda: receiver.of(MISSING), "the alert")
    sign_fleet(redis_url)
    await asyncio.to_thread(eventually, lambda: "resolved" in receiver.of(MISSING), "its end")
    await cancel_all([work])

    assert receiver.of(MISSING) == ["firing", "resolved"]


@pytest.mark.parametrize("stored", [b"no json", b"[]", b'{"since": "yesterday", "posted": 1}', b"\xff"])
def test_what_cannot_be_read_in_redis_stops_no_alert(
    shell: Shell, receiver: Receiver, redis_url: str, stored: bytes
) -> None:
    """A state begins anew; others are left out. Else no alert would be judged until the keys are deleted."""
    check = AlertWatch(settings_of(shell)).check
    check()
    hour_ago(redis_url)
    with Redis.from_url(redis_url) as redis:
        redis.hset(alerts_key(STREAM), "HushgateServerAway", stored)
        redis.hset(alerts_key(STREAM), b"\xff", stored)
        for key in ("workers", "reporting"):
            redis.sadd(f"{{{STREAM}}}:{key}", b"\xff", "broken")
        redis.set(f"{{{STREAM}}}:upstreams:broken", stored)
        redis.zadd(beats_key(STREAM), {b"\xff": 2e9})
    check()

    assert receiver.of(MISSING) == ["firing"]


def test_an_outage_of_redis_is_posted_once_and_ends_no_other_alert(
    shell: Shell, receiver: Receiver, redis_url: str
) -> None:
    """The watch remembers what Redis cannot, and what it did not find may still hold."""
    watch = AlertWatch(settings_of(shell))
    watch.check()
    hour_ago(redis_url)
    watch.check()
    away = FleetSettings.model_validate({**shell.environment, "REDIS_URL": "redis://127.0.0.1:1/0"})
    watch._settings = away
    for _ in range(2):
        watch.check()

    assert receiver.of(MISSING) == ["firing"]
    assert receiver.of("HushgateServerAway") == []
    lone = AlertWatch(away)
    lone.check()
    lone.check()
    assert receiver.of("HushgateServerAway") == ["firing"]


def test_sentry_gets_the_name_of_an_alert_only(
    shell: Shell, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sentences name accounts and rules."""
    sent: list[Any] = []
    monkeypatch.setattr(telemetry, "_sdk", sentry_sdk)
    monkeypatch.setattr(
        sentry_sdk, "capture_event", lambda event: sent.append(telemetry.allowed(event, None))
    )
    watch = AlertWatch(settings_of(shell, alerts_webhook=None))
    watch.check()
    hour_ago(redis_url)
    watch.check()

    assert {
        "level": "error",
        "exception": {"values": [{"type": MISSING, "module": "hushgate.alerts"}]},
    } in sent


def test_the_exporter_works_with_the_login_of_the_review_pages(shell: Shell, database_url: str) -> None:
    """Every figure is there; the login of the workers may read none of Postgres's, and the alert says so."""
    ended = shell.run("metrics")
    worker = logins.url_of(database_url, LOGINS[Service.WORKER], "")
    refused = shell.run("alerts", "check", env={"DATABASE_URL": worker})

    assert ended.code == 0
    for name in ("conservation_imbalance", "partitions_ahead", "outbox_waiting", "webhooks_waiting"):
        assert f"\nhushgate_{name} " in ended.out
    found = [row["found"] for row in refused.rows if row["alert"] == "HushgateServerAway"]
    assert found == ["Postgres refuses the check: it needs the database login of the review pages"]
