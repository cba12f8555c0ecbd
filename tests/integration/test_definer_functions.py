"""Functions that run with the owner's rights: the caller chooses neither names nor code inside them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row

from cli.stack import Stack
from db.schema import migrate
from tests.conftest import create_database

Rows = psycopg.Connection[dict[str, Any]]
LOGIN = "hushgate_test_intruder"
CALLS = (
    "hushgate_expire_held_drafts('a', 'c', 'm', now())",
    "hushgate_drop_partitions('1990-01-01')",
    *(
        f"hushgate_sweep_rows('{table}', now() - interval '{age}', NULL, 9)"
        for age, tables in (
            ("0 days", ("quarantine", "held_drafts")),
            ("2 days", ("event_keys", "duplicates", "dead_letters", "messages")),
            ("29 days", ("outgoing_events", "escalations", "answers", "outbox", "legal_holds")),
        )
        for table in tables
    ),
    "hushgate_retention_due('ai_decisions', now(), 9)",
    "hushgate_ensure_partitions(current_date, 0)",
    "hushgate_return_rollout(gen_random_uuid(), 'a bound', NULL, now())",
)
TABLES = (
    "answers",
    "outbox",
    "outgoing_events",
    "escalations",
    "quarantine",
    "held_drafts",
    "event_keys",
    "duplicates",
    "dead_letters",
    "purged",
    "ai_decisions",
    "messages",
    "legal_holds",
    "trials",
    "trial_steps",
)
AS_WHOM = """
    CREATE TEMP TABLE seen (name text);
    GRANT ALL ON seen TO PUBLIC;
    CREATE FUNCTION pg_temp.as_whom() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO pg_temp.seen VALUES (current_user);
        IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
        RETURN NEW;
    END $$
"""


@pytest.fixture
def intruder(database_url: str, owner: Rows) -> Iterator[Rows]:
    """A session of a worker login that was taken over, in a database where PUBLIC may still use TEMP."""
    owner.execute(f"CREATE ROLE {LOGIN} LOGIN IN ROLE hushgate_worker")
    try:
        with psycopg.connect(
            make_conninfo(database_url, user=LOGIN), autocommit=True, row_factory=dict_row
        ) as connection:
            yield connection
    finally:
        owner.execute(f"DROP OWNED BY {LOGIN}")
        owner.execute(f"DROP ROLE {LOGIN}")


def test_a_worker_login_cannot_run_code_as_the_owner(intruder: Rows, owner: Rows) -> None:
    """A temporary table named `quarantine` with a trigger stays unused by the sweep."""
    intruder.execute(AS_WHOM)
    intruder.execute("CREATE TEMP TABLE quarantine (expires_at timestamptz)")
    intruder.execute("GRANT ALL ON quarantine TO PUBLIC")
    intruder.execute("INSERT INTO quarantine VALUES (now() - interval '1 day')")
    intruder.execute(
        "CREATE TRIGGER planted BEFORE DELETE ON quarantine FOR EACH ROW EXECUTE FUNCTION pg_temp.as_whom()"
    )
    intruder.execute("SELECT hushgate_sweep_rows('quarantine', now(), NULL, 9)")

    assert intruder.execute("SELECT name FROM pg_temp.seen").fetchall() == []
    assert intruder.execute("SELECT count(*) AS left FROM pg_temp.quarantine").fetchone() == {"left": 1}


@pytest.mark.parametrize("call", CALLS)
def test_no_function_of_the_owner_reads_a_temporary_table(intruder: Rows, owner: Rows, call: str) -> None:
    """Temporary tables with the names of all tables that the functions touch are never used."""
    intruder.execute(AS_WHOM)
    for table in TABLES:
        columns = owner.execute(
            "SELECT string_agg(format('%%I %%s', attname, format_type(atttypid, atttypmod)), ', ') AS all"
            " FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped",
            (f"public.{table}",),
        ).fetchone()
        assert columns is not None
        intruder.execute(f"CREATE TEMP TABLE {table} ({columns['all']})")
        intruder.execute(f"GRANT ALL ON pg_temp.{table} TO PUBLIC")
        intruder.execute(f"INSERT INTO pg_temp.{table} DEFAULT VALUES")
        for column in ("created_at", "expires_at"):
            if f"{column} timestamp" in columns["all"]:
                intruder.execute(f"UPDATE pg_temp.{table} SET {column} = '1980-01-01'")
        intruder.execute(
            f"CREATE TRIGGER planted BEFORE INSERT OR UPDATE OR DELETE ON pg_temp.{table}"
            " FOR EACH ROW EXECUTE FUNCTION pg_temp.as_whom()"
        )
    intruder.execute("TRUNCATE pg_temp.seen")
    intruder.execute(f"SELECT {call}")

    assert intruder.execute("SELECT name FROM pg_temp.seen").fetchall() == []


DEFINERS = """
    SELECT p.oid::regprocedure::text AS function, coalesce(array_to_string(p.proconfig, ';'), '') AS config,
           EXISTS (SELECT FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS each
                   WHERE each.grantee = 0) AS for_public
    FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE n.nspname NOT IN ('pg_catalog', 'information_schema')
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
      AND (p.prosecdef OR p.prorettype = 'trigger'::regtype)
"""


def test_every_function_of_the_owner_and_every_trigger_has_a_fixed_path(owner: Rows) -> None:
    """`pg_temp` is searched last, and PUBLIC may not call them; one may delete from an append-only table."""
    path = "search_path=pg_catalog, public, pg_temp"
    found = owner.execute(DEFINERS).fetchall()
    erasing = [row for row in found if row["config"].startswith(f"{path};hushgate.erasing=on")]
    for row in erasing:
        row["config"] = path
    expected = {"config": path, "for_public": False}

    assert len(found) >= 8
    assert {row["function"].partition("(")[0] for row in erasing} == {
        "hushgate_sweep_rows",
        "hushgate_erase_decisions",
        "hushgate_erase_again",
        "hushgate_erase_rows",
        "hushgate_erase_queries",
        "hushgate_remove_sample",
    }
    assert [row for row in found if row != {"function": row["function"]} | expected] == []


def test_the_quarantine_is_swept_up_to_now_and_no_further(owner: Rows) -> None:
    """A worker login cannot empty the quarantine before its time; a minute of clock skew is allowed."""
    owner.execute("SET ROLE hushgate_worker")
    sweep = "SELECT hushgate_sweep_rows('quarantine', now() + %s::interval, NULL, 9)"
    owner.execute(sweep, ("59 seconds",))
    for ahead in ("61 seconds", "10 years"):
        with pytest.raises(psycopg.errors.RaiseException, match="not after now"):
            owner.execute(sweep, (ahead,))


def test_migrations_take_temporary_tables_and_the_schema_from_public(stack: Stack) -> None:
    """Roles of workers and reviewers create neither temporary tables nor objects beside ours."""
    url = create_database(stack.database_url, "hushgate_public")
    with psycopg.connect(url, autocommit=True, row_factory=dict_row) as owner:
        owner.execute("GRANT CREATE ON SCHEMA public TO PUBLIC")
        migrate.upgrade(url)
        query = """
            SELECT has_database_privilege(%(role)s, current_database(), 'TEMP') AS temp,
                   has_schema_privilege(%(role)s, 'public', 'CREATE') AS objects
        """
        found = [
            owner.execute(query, {"role": role}).fetchone()
            for role in ("hushgate_worker", "hushgate_reviewer")
        ]

    assert found == [{"temp": False, "objects": False}] * 2
