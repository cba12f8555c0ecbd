"""Lists and figures from a real streaming replica; everything that must be current from the primary."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs
from typer.testing import CliRunner

from cli.doctor.rights import replica_checks
from cli.main import command_line
from db.connection import Connection
from db.people.records import Role
from db.review_store import Store
from db.sessions import read_replica
from tests.support.auditing import decided, store
from tests.support.replica import Replica, replica_of
from tests.support.reviewing import Visitor, Visitors, add_person, site
from worker.settings import Settings

RECOVERING = sa.text("SELECT pg_is_in_recovery()")


@pytest.fixture(scope="module")
def replica(database_url: str) -> Iterator[Replica]:
    """A replica of the module's database."""
    with replica_of(database_url) as running:
        yield running


@pytest.fixture
def caught_up(replica: Replica, database_url: str) -> Replica:
    """The replica with all that the primary has written."""
    replica.catch_up(database_url)
    return replica


@pytest.fixture
def always_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every read looks at the replica first."""
    monkeypatch.setattr(read_replica, "LOOK_S", 0.0)


async def recovering(connection: Connection) -> bool:
    """Whether the connection is to a replica."""
    return bool((await connection.execute(RECOVERING)).scalar_one())


def list_of(visitor: Visitor) -> list[str]:
    """The ids of the decisions that the API lists."""
    return [each["id"] for each in visitor.get("/api/v1/decisions").json()["decisions"]]


def signed_in(visitors: Visitors, url: str) -> Visitor:
    """A lead of every account, signed in."""
    visitor = visitors()
    visitor.sign_in(add_person(url, Role.LEAD))
    return visitor


def test_lists_are_of_the_replica_and_one_decision_of_the_primary(
    caught_up: Replica, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A decision that the replica lacks is not listed, its page opens, and sign-in works at once."""
    environment = {"HUSHGATE_READ_DATABASE_URL": caught_up.url}
    monkeypatch.setattr(read_replica, "MOST_LAG_S", 86_400.0)
    with site(database_url, **environment) as visitors:
        store(database_url, [old := decided()])
        caught_up.catch_up(database_url)
        caught_up.replay(paused=True)
        try:
            store(database_url, [new := decided()])
            visitor = signed_in(visitors, database_url)
            api, page = list_of(visitor), visitor.get("/decisions").text
            opened = visitor.get(f"/decisions/{new.decision_id}").status_code
        finally:
            caught_up.replay(paused=False)
        caught_up.catch_up(database_url)

        assert str(old.decision_id) in api
        assert str(new.decision_id) not in api
        assert str(old.decision_id) in page
        assert str(new.decision_id) not in page
        assert opened == 200
        assert str(new.decision_id) in list_of(visitor)


def test_a_replica_that_is_behind_is_not_read(
    caught_up: Replica, database_url: str, always_look: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond the allowed lag lists come from the primary, and the change is one log line."""
    caught_up.replay(paused=True)
    environment = {"HUSHGATE_READ_DATABASE_URL": caught_up.url}
    monkeypatch.setattr(read_replica, "MOST_LAG_S", 0.000_001)
    try:
        with site(database_url, **environment) as visitors, capture_logs() as lines:
            store(database_url, [new := decided()])
            visitor = signed_in(visitors, database_url)
            found = [list_of(visitor) for _ in range(3)]
    finally:
        caught_up.replay(paused=False)

    assert all(str(new.decision_id) in each for each in found)
    assert [each["kind"] for each in lines if each["event"] == "read_replica_left"] == ["behind"]


async def test_reads_go_on_while_the_replica_is_down(
    caught_up: Replica, database_url: str, always_look: None
) -> None:
    """Lists come from the primary with one log line, and from the replica again when it is back."""
    async with Store(database_url, replica_url=caught_up.url) as reader:
        with capture_logs() as lines:
            found = [await reader.read_lists(recovering)]
            caught_up.kill()
            try:
                found += [await reader.read_lists(recovering) for _ in range(3)]
            finally:
                caught_up.start()
            caught_up.catch_up(database_url)
            found.append(await reader.read_lists(recovering))

    assert found == [True, False, False, False, True]
    assert [each["event"] for each in lines] == ["read_replica_left", "read_replica_used"]


async def test_a_replica_that_fails_in_the_middle_is_followed_by_the_primary(
    caught_up: Replica, database_url: str
) -> None:
    """A read whose connection the replica ends is read again from the primary."""
    ended = []

    async def read(connection: Connection) -> bool:
        is_replica = await recovering(connection)
        if is_replica:
            ended.append(is_replica)
            await connection.execute(sa.text("SELECT pg_terminate_backend(pg_backend_pid())"))
        return is_replica

    async with Store(database_url, replica_url=caught_up.url) as reader:
        found = await reader.read_lists(read)
        again = await reader.read_lists(recovering)

    assert (ended, found, again) == ([True], False, True)


def test_commands_read_lists_from_the_replica(
    caught_up: Replica, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``decisions list`` shows what the replica has, and all of the primary without a replica."""
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setattr(read_replica, "MOST_LAG_S", 86_400.0)
    caught_up.replay(paused=True)
    try:
        store(database_url, [new := decided()])
        found = []
        for url in (caught_up.url, "postgresql://postgres@/none?host=/nowhere"):
            monkeypatch.setenv("HUSHGATE_READ_DATABASE_URL", url)
            run = CliRunner().invoke(command_line(), ["decisions", "list", "--json", "id", "--limit", "500"])
            found.append({json.loads(line)["id"] for line in run.stdout.splitlines()})
    finally:
        caught_up.replay(paused=False)

    assert [str(new.decision_id) in each for each in found] == [False, True]


def test_doctor_shows_the_replica_and_its_lag(
    caught_up: Replica, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replica passes with its lag; one that stands still, and a server that is none, are warned of."""

    def check(url: str) -> tuple[str, str]:
        known = {"DATABASE_URL": database_url, "REDIS_URL": "redis://127.0.0.1:1/0"}
        known |= {"OPENROUTER_API_KEY": "x", "OPENAI_API_KEY": "x"}
        settings = Settings.model_validate(known | {"HUSHGATE_READ_DATABASE_URL": url})
        (found,) = replica_checks(settings)
        return found.state, found.found

    assert check(caught_up.url) == ("ok", "0.0 s behind")
    assert check(database_url) == ("warn", "the server is no replica")
    caught_up.replay(paused=True)
    try:
        store(database_url, [decided()])
        monkeypatch.setattr(read_replica, "MOST_LAG_S", 0.000_001)
        state, shown = check(caught_up.url)
    finally:
        caught_up.replay(paused=False)
    assert state == "warn"
    assert shown.endswith("s behind")
