"""An upgrade while workers of the previous release run: they work on, and nothing blocks them."""

from __future__ import annotations

import os
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import psycopg
import pytest

from cli.stack import Stack
from db.backup.dump import restore_database
from db.schema import migrate
from review.http.visit import SESSION_COOKIE
from sandbox.server import SandboxHandle
from tests.conftest import create_database, database_at
from tests.support.migration_rules import VERSIONS, problems, reason, watched
from tests.support.record_release import save
from tests.support.release_statements import RELEASES, repeat, worker_statements
from tests.support.review_world import SAMPLES, World
from tests.support.reviewing import site
from tests.support.running import eventually
from tests.support.schema import schema_of

STORED = sorted(RELEASES.glob("*.json"))
NOW = "this_commit"
FILLED = (
    "ai_decisions",
    "event_keys",
    "messages",
    "outbox",
    "outgoing_events",
    "quarantine",
    "escalations",
    "held_drafts",
    "conversations",
    "dead_letters",
    "duplicates",
)
"""Where workers insert rows."""
COUNTS = ", ".join(f"(SELECT count(*) FROM {name})" for name in FILLED)
TABLES = "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace"
LATER = """
from alembic import op

revision, down_revision = {revision!r}, {before!r}


def upgrade():
    op.execute({statement!r})
"""
NEEDS_WRITERS_GONE = (
    "CREATE TRIGGER later AFTER DELETE ON ai_decisions FOR EACH ROW EXECUTE FUNCTION hushgate_end_exports()"
)
NEEDS_READERS_GONE = "ALTER TABLE ai_decisions ADD COLUMN later text"


def rows(url: str, query: str) -> list[Any]:
    """The rows of a query."""
    with psycopg.connect(url) as connection:
        return connection.execute(query).fetchall()


@pytest.fixture(scope="module")
def recorded(
    stack: Stack, sandbox_process: SandboxHandle, template: str, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """What the workers of this commit say to Postgres, and the database before that."""
    url = create_database(stack.database_url, "hushgate_recorded", template)
    return save(tmp_path_factory.mktemp("releases") / "now.json", url, stack.redis_url, sandbox_process)


@pytest.mark.parametrize("name", [*(file.stem for file in STORED[-2:]), NOW])
def test_workers_of_an_earlier_release_work_on_after_the_migrations(
    stack: Stack, template: str, recorded: Path, name: str
) -> None:
    """All that they say to Postgres still succeeds, with a worker's rights, and stores the same rows.

    Migrations since then only expand, and their locks are short. They leave what a new database has.
    The recording of this commit shows that a recording can be repeated; releases are stored.
    """
    file = recorded if name == NOW else RELEASES / f"{name}.json"
    url = create_database(stack.database_url, f"hushgate_release_{name}")
    restore_database(url, file.with_suffix(".dump"))
    rows(url, "SELECT hushgate_ensure_partitions(current_date, 3)")
    executed = repeat(url, file, run=1)
    (before,) = rows(url, f"SELECT {COUNTS}")
    existing = frozenset(name for (name,) in rows(url, TABLES))
    with watched() as migrated:
        migrate.upgrade(url)
    repeat(url, file, run=2)
    (after,) = rows(url, f"SELECT {COUNTS}")
    narrowed = {
        revision: found
        for revision, statements in migrated.statements.items()
        if (found := problems(statements, existing)) and reason(revision) is None
    }
    made_new = schema_of(database_at(stack.database_url, template))

    assert worker_statements(executed) > 60
    assert all(before), f"a table that the recording does not fill: {before}"
    assert after == tuple(2 * count for count in before)
    assert narrowed == {}, "see the recipe 'A migration' in CONTRIBUTING.md"
    assert schema_of(url) - made_new == made_new - schema_of(url) == Counter()


@pytest.fixture
def later_migrations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two migrations after ours; the second waits for readers of the audit."""
    before, config = migrate.head(), migrate._config
    for revision, statement in (("later", NEEDS_WRITERS_GONE), ("latest", NEEDS_READERS_GONE)):
        text = LATER.format(revision=revision, before=before, statement=statement)
        (tmp_path / f"{revision}.py").write_text(text)
        before = revision

    def with_later(connection: Any) -> Any:
        found = config(connection)
        found.set_main_option("path_separator", "os")
        found.set_main_option("version_locations", os.pathsep.join((str(VERSIONS), str(tmp_path))))
        return found

    monkeypatch.setattr(migrate, "_config", with_later)


def test_a_migration_neither_waits_for_readers_nor_lets_writers_wait_for_long(
    database_url: str, later_migrations: None
) -> None:
    """It gives up a lock that it does not get, lets the others pass, and tries again.

    Only a new column of a table waits for its readers, and it lets writers pass too.
    """
    url, old = database_url, rows(database_url, "SELECT version_num FROM alembic_version")
    waits = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'ai_decisions'::regclass"
    write = "DELETE FROM ai_decisions WHERE false"
    with psycopg.connect(url) as reader, psycopg.connect(url, autocommit=True) as other:
        reader.execute("SELECT count(*) FROM ai_decisions")
        writer = psycopg.connect(url)
        writer.execute(write)
        migration = threading.Thread(target=migrate.upgrade, args=(url,))
        migration.start()
        eventually(lambda: other.execute(waits).fetchone(), "a migration that waits for the writer")
        before = rows(url, "SELECT version_num FROM alembic_version")
        other.execute("SET statement_timeout = '5s'")
        other.execute(write)
        assert migration.is_alive()
        writer.close()
        last = [("later",)]
        eventually(lambda: rows(url, "SELECT version_num FROM alembic_version") == last, "all but the column")
        eventually(lambda: other.execute(waits).fetchone(), "the column, which needs every reader gone")
        other.execute(write)
        reader.rollback()
        migration.join()

        assert before == old
        assert rows(url, "SELECT version_num FROM alembic_version") == [("latest",)]


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("ALTER TABLE outbox DROP COLUMN text", "drops a column"),
        ("ALTER TABLE public.outbox RENAME COLUMN text TO body", "renames"),
        ("ALTER TABLE outbox ALTER COLUMN text TYPE varchar(5)", "changes a type"),
        ("ALTER TABLE outbox ALTER COLUMN text SET NOT NULL", "narrows a column"),
        ("ALTER TABLE outbox ADD COLUMN shelf text NOT NULL", "needs a value"),
        ("ALTER TABLE outbox ADD CONSTRAINT c CHECK (text <> '')", "checks a table under a lock"),
        ("CREATE INDEX i ON outbox (text)", "blocks writes while it builds"),
        ("CREATE UNIQUE INDEX i ON ONLY outbox (text)", "blocks writes while it builds"),
        ("UPDATE outbox SET text = ''", "rewrites a table in one transaction"),
        ("DROP TRIGGER t ON outbox", "waits for all who use a table"),
        ("DROP TRIGGER IF EXISTS t ON public.outbox", "waits for all who use a table"),
        (
            "CREATE TRIGGER t AFTER DELETE ON outbox FOR EACH ROW EXECUTE FUNCTION f()",
            "waits for all who use a table",
        ),
        ("CREATE TRIGGER t AFTER DELETE ON ai_rules FOR EACH ROW EXECUTE FUNCTION f()", None),
        ("DROP TABLE IF EXISTS outbox", "drops a table"),
        ("REVOKE INSERT ON outbox FROM hushgate_worker", "takes a right away"),
        ("DROP FUNCTION hushgate_store_event", "drops what is called"),
        ("ALTER TABLE outbox ADD COLUMN shelf text", None),
        ("ALTER TABLE outbox ADD COLUMN shelf text DEFAULT '' NOT NULL", None),
        ("ALTER TABLE outbox ADD CONSTRAINT c CHECK (text <> '') NOT VALID", None),
        ("ALTER TABLE outbox DROP CONSTRAINT c", None),
        ("CREATE INDEX CONCURRENTLY i ON outbox (text)", None),
        ("UPDATE outbox SET text = '' WHERE id < 5", None),
        ("CREATE INDEX i ON shelves (name)", None),
        ("CREATE INDEX i ON ai_rules (user_id)", None),
        ("ALTER TABLE ai_rules DROP COLUMN version", "drops a column"),
        ("DROP FUNCTION f(int); CREATE FUNCTION f(int, text) RETURNS int", None),
        ("ALTER TABLE shelves ALTER COLUMN name SET NOT NULL", None),
        ("COMMENT ON COLUMN outbox.text IS 'never DROP COLUMN text'", None),
    ],
)
def test_a_statement_that_narrows_or_blocks_is_found(statement: str, what: str | None) -> None:
    """On tables that the previous release has; a migration may do anything to its own."""
    found = problems([statement], frozenset({"outbox", "ai_rules"}))

    assert [each.partition(":")[0] for each in found] == ([what] if what else [])


OF_A_NEWER_RELEASE = (
    *(("queues", "kind"), ("jobs", "kind"), ("jobs", "state"), ("invitations", "role")),
    *(("person_roles", "role"), ("people", "list_order")),
)


@pytest.mark.parametrize(("table", "column"), OF_A_NEWER_RELEASE)
def test_pages_open_beside_what_only_a_newer_release_knows(url: str, table: str, column: str) -> None:
    """After a rollback: a row of a newer kind is left out, a role of one gives no right."""
    with World(url, "acme") as world, site(url) as visitor, psycopg.connect(url, autocommit=True) as owner:
        person = world.person(("*", "lead"), ("*", "account_admin"))
        for sample in ("queue_id", "job_id", "invitation_id"):
            SAMPLES[sample](world, person)
        person_of_newer = world.person(("acme", "viewer"))
        checks = "SELECT conname FROM pg_constraint WHERE conrelid = %s::regclass AND contype = 'c'"
        for (name,) in owner.execute(checks, (table,)).fetchall():
            owner.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
        only = {"person_roles": "person_id = %s", "people": "id = %s"}.get(table, "%s IS NOT NULL")
        chosen = person_of_newer if table == "person_roles" else person
        changed = owner.execute(f"UPDATE {table} SET {column} = 'newer' WHERE {only}", (chosen,)).rowcount
        client = visitor().client
        client.cookies.set(SESSION_COOKIE, world.session(person), domain="127.0.0.1")
        statuses = {path: client.get(path).status_code for path in ("/", "/queues", "/jobs", "/people")}

    assert changed > 0
    assert set(statuses.values()) == {200}, statuses
