"""The database itself: migrations, rights, guards, partitions and retention."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import count
from typing import Any, TypeVar

import psycopg
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from psycopg.rows import dict_row

from cli.stack import Stack
from compliance import tables as compliance_tables  # noqa: F401
from db.account_settings import accounts
from db.audit.decision_list import read_connection
from db.collaboration import tables as collaboration_tables  # noqa: F401
from db.columns import metadata
from db.commits.record import record_decision
from db.commits.stored_event import Recorded
from db.figures import tables  # noqa: F401
from db.health import conservation
from db.history.conversations import PostgresConversations
from db.pool import Pool, create_pool
from db.retention.declared import RETENTION
from db.schema import baseline, migrate
from db.schema.partitions import ensure_partitions
from tasks.retention.sweep import sweep
from tests.conftest import create_database
from tests.support.auditing import decided, store
from tests.support.pools import in_pool
from tests.support.retention import keeping
from tests.support.samples import account
from worker.errors import ConfigurationError
from worker.model import (
    Account,
    Combination,
    DecisionKind,
    FailurePolicy,
    HeldDraft,
    HeldKind,
    Message,
    MessageRole,
    ModeratorChoice,
)
from worker.reasons import Reason

Value = TypeVar("Value")
NUMBERS = count(1)
FILES = (*baseline.BEFORE_TABLES, *baseline.AFTER_TABLES)
NOW = datetime.now(UTC)
Rows = psycopg.Connection[dict[str, Any]]


@pytest.fixture
def worker(database_url: str) -> Iterator[Rows]:
    """A connection in the worker's role."""
    with psycopg.connect(database_url, autocommit=True, row_factory=dict_row) as connection:
        connection.execute("SET ROLE hushgate_worker")
        yield connection


def as_worker(url: str, call: Callable[[Pool], Awaitable[Value]]) -> Value:
    """What a call gives on a worker's pool."""
    return in_pool(url, call)


@pytest.fixture
def empty_url(stack: Stack) -> str:
    """A database without a table."""
    name = f"hushgate_empty_{next(NUMBERS)}"
    return create_database(stack.database_url, name)


def differences(url: str) -> list[Any]:
    """What alembic would still change, partitions left out."""

    def ours(name: str | None, kind: str, _parents: object) -> bool:
        return not (kind == "table" and str(name).startswith("ai_decisions_"))

    with migrate.engine(url).connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"include_name": ours, "compare_type": True, "compare_server_default": True}
        )
        return list(compare_metadata(context, metadata))


def test_a_new_database_has_what_the_code_knows(database_url: str) -> None:
    """Columns, types, defaults, indexes, comments: nothing is left to change."""
    assert differences(database_url) == []


def test_the_checks_of_code_and_database_are_the_same_ones(owner: Rows) -> None:
    """Alembic does not compare them, so this does, by name."""
    query = "SELECT conname FROM pg_constraint WHERE contype = 'c' AND coninhcount = 0 AND conrelid <> 0"
    stored = {row["conname"] for row in owner.execute(query)}
    known = {
        str(check.name)
        for table in metadata.tables.values()
        for check in table.constraints
        if isinstance(check, sa.CheckConstraint)
    }

    assert stored == known


def test_tables_whose_rows_change_are_vacuumed_by_count(owner: Rows) -> None:
    """A fifth of a large table, as Postgres waits for by itself, would be millions of dead rows."""
    query = (
        "SELECT relname, option FROM pg_class, unnest(reloptions) AS option"
        " WHERE option LIKE '%vacuum_threshold%'"
    )
    assert {row["relname"]: row["option"] for row in owner.execute(query)} == dict.fromkeys(
        ("conversations", "escalations", "outbox", "outgoing_events", "webhook_deliveries"),
        "autovacuum_vacuum_threshold=10000",
    )


def test_every_function_is_that_of_its_file(owner: Rows) -> None:
    """A function that a migration changed without its file, or a file without a migration, is found."""
    installed = owner.execute("SELECT prosrc FROM pg_proc WHERE proname LIKE 'hushgate%'").fetchall()
    files = "".join(baseline.statements(name, "public") for name in FILES)
    written = re.findall(r"AS \$\$(.*?)\$\$;", files, re.DOTALL)

    assert sorted(row["prosrc"] for row in installed) == sorted(written)


def test_the_files_can_be_run_again(database_url: str) -> None:
    """A migration runs those that changed; bodies are checked, because all that they name exists."""
    with migrate.engine(database_url).begin() as connection:
        baseline.run(connection, *(name for name in FILES if name != "first_queues"))

    assert differences(database_url) == []


def test_the_tables_may_be_in_another_schema(empty_url: str) -> None:
    """The current one: functions with the owner's rights search it, and partitions are created in it."""
    with psycopg.connect(empty_url, autocommit=True) as connection:
        connection.execute('CREATE SCHEMA "Shop"')
        database = connection.info.dbname
        connection.execute(f'ALTER DATABASE "{database}" SET search_path = "Shop", public'.encode())
    migrate.upgrade(empty_url)
    with psycopg.connect(empty_url, autocommit=True) as connection:
        made = connection.execute("SELECT hushgate_ensure_partitions(current_date, 4)").fetchone()
        found = connection.execute(
            "SELECT DISTINCT relnamespace::regnamespace::text FROM pg_class WHERE relname ~ '^ai_decisions'"
        ).fetchall()

        assert made == (1,)
        assert found == [('"Shop"',)]


def test_a_database_of_a_later_release_is_left_alone(empty_url: str) -> None:
    """With one line that says what to do."""
    migrate.upgrade(empty_url)
    with psycopg.connect(empty_url, autocommit=True) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(ConfigurationError, match="newer than this release"):
        migrate.upgrade(empty_url)

    assert differences(empty_url) == []


FORBIDDEN = (
    "UPDATE ai_decisions SET reason = ''",
    "DELETE FROM ai_decisions",
    "TRUNCATE ai_decisions",
    "SELECT * FROM ai_decisions",
    "SELECT * FROM quarantine",
    "DELETE FROM quarantine",
    "SELECT * FROM dead_letters",
    "INSERT INTO ai_rules (user_id) VALUES ('x')",
    "UPDATE ai_rules SET prompt = ''",
    "DELETE FROM event_keys",
    "UPDATE event_keys SET entry_id = ''",
    "UPDATE outbox SET text = ''",
    "DELETE FROM outbox",
    "DELETE FROM outgoing_events",
    "UPDATE outgoing_events SET body = '{}'",
    "UPDATE escalations SET queue = ''",
    "SELECT note FROM decision_reviews",
    "INSERT INTO documents (user_id, title, content_hash) VALUES ('x', 'x', 'x')",
    "INSERT INTO purged VALUES ('ai_decisions', 1)",
    "UPDATE messages SET text = ''",
    "CREATE TABLE mine ()",
    "DROP TABLE ai_decisions",
)


@pytest.mark.parametrize("statement", FORBIDDEN)
def test_the_worker_s_role_may_not(worker: Rows, statement: str) -> None:
    """A worker that was taken over cannot rewrite the audit or read what is sealed."""
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        worker.execute(statement)


def test_the_worker_s_role_may_not_touch_a_partition_by_its_name(worker: Rows, owner: Rows) -> None:
    """Rights on the audit do not reach around it."""
    query = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ '^ai_decisions_2'"
    name = owner.execute(query).fetchone()

    assert name is not None
    for statement in ("DELETE FROM {}", "SELECT * FROM {}"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            worker.execute(statement.format(name["relname"]))


def test_the_worker_s_role_can_do_its_work(database_url: str, owner: Rows) -> None:
    """Record with history, reply and quarantine, read back the history, sweep and make partitions."""
    answered = decided(kind=DecisionKind.RESPOND, reason_code=Reason.REPLIED, reply="Nine.", remember=True)
    sealed = decided(reason_code=Reason.FLAGGED_RULE, quarantine=True, rejected_draft="No.")

    async def work(source: Pool) -> tuple[Message, ...]:
        assert await record_decision(source, answered) is Recorded.NEW
        assert await record_decision(source, sealed) is Recorded.NEW
        await ensure_partitions(source, NOW.date())
        await sweep(source, keeping(), NOW)
        await accounts.current_account(source, "acme")
        await accounts.current_versions(source, ["acme"])
        return await PostgresConversations(source).history("acme", "c1", 10)

    history = as_worker(database_url, work)
    kept = owner.execute(
        "SELECT role, text FROM quarantine WHERE decision_id = %s ORDER BY id", (sealed.decision_id,)
    )

    assert history[-2:] == (
        Message(role=MessageRole.USER, text=answered.event.text),
        Message(role=MessageRole.ASSISTANT, text="Nine."),
    )
    assert {(row["role"], row["text"]) for row in kept} == {
        ("user", sealed.event.text),
        ("assistant", "No."),
    }


@pytest.mark.parametrize("statement", ["UPDATE {} SET user_id = 'x'", "DELETE FROM {}", "TRUNCATE {}"])
@pytest.mark.parametrize("table", ["ai_decisions", "ai_rules"])
def test_even_the_owner_cannot_rewrite_by_accident(
    database_url: str, owner: Rows, table: str, statement: str
) -> None:
    """The message says what to do instead."""
    as_worker(database_url, lambda source: record_decision(source, decided()))
    owner.execute("INSERT INTO ai_rules (user_id) VALUES ('append')")
    with pytest.raises(psycopg.errors.RaiseException, match="append-only") as caught:
        owner.execute(statement.format(table))

    assert "decision_reviews" in str(caught.value.diag.message_hint)


def test_erasing_on_request_needs_a_word(database_url: str, owner: Rows) -> None:
    """Inside one transaction of the owner, and no longer."""
    gone = decided()
    store(database_url, (gone, decided()))
    with owner.transaction():
        owner.execute("SET LOCAL hushgate.erasing = on")
        erased = owner.execute("DELETE FROM ai_decisions WHERE id = %s", (gone.decision_id,)).rowcount
    owner.execute("DELETE FROM event_keys WHERE decision_id = %s", (gone.decision_id,))
    with pytest.raises(psycopg.errors.RaiseException):
        owner.execute("DELETE FROM ai_decisions")

    assert erased == 1


def partitions(connection: Rows) -> set[str]:
    """Names of the audit's partitions."""
    query = "SELECT relname FROM pg_class WHERE relispartition AND relkind = 'r'"
    return {row["relname"] for row in connection.execute(query)}


def test_partitions_of_four_months_are_there_and_made_once(database_url: str, owner: Rows) -> None:
    """A migrated database takes decisions at once, and over the turn of a year."""
    made = [
        as_worker(database_url, lambda source: ensure_partitions(source, date(2031, 11, 30)))
        for _ in range(2)
    ]
    wanted = {"2031_11", "2031_12", "2032_01", "2032_02", f"{NOW:%Y_%m}"}

    assert made == [4, 0]
    assert {f"ai_decisions_{month}" for month in wanted} <= partitions(owner)


@pytest.mark.parametrize("month", ["2027-09-30T23:59:59.999+00:00", "2028-01-01T00:00:00+00:00"])
def test_a_decision_of_a_far_month_makes_its_partition(database_url: str, owner: Rows, month: str) -> None:
    """Beat may have been stopped; the audit must still accept decisions."""
    at = datetime.fromisoformat(month)
    far = decided(at=at)
    recorded = as_worker(database_url, lambda source: record_decision(source, far))
    row = owner.execute(
        "SELECT tableoid::regclass::text AS place FROM ai_decisions WHERE id = %s", (far.decision_id,)
    )

    assert recorded is Recorded.NEW
    assert row.fetchone() == {"place": f"ai_decisions_{at:%Y_%m}"}


def test_a_value_that_no_partition_takes_is_an_error(database_url: str) -> None:
    """It is a bug, not a missing month, and nothing of it is stored."""
    with pytest.raises(psycopg.errors.CheckViolation):
        as_worker(database_url, lambda source: record_decision(source, decided(confidence=1.5)))


def test_retention_keeps_the_conservation_law(stack: Stack, template: str) -> None:
    """Deleted rows are counted, so that the balance shows nothing missing."""
    url = create_database(stack.database_url, f"hushgate_retention_{next(NUMBERS)}", template)
    old = datetime(2026, 3, 5, tzinfo=UTC)
    made = [
        decided(at=old),
        decided(at=old),
        decided(),
        decided(at=old, reason_code=Reason.FLAGGED_RULE, quarantine=True),
        decided(held=(HeldDraft(kind=HeldKind.DRAFT, text="Perhaps."),), held_until=old),
    ]

    async def work(source: Pool) -> dict[str, int]:
        for each in made:
            await record_decision(source, each)
        return await sweep(source, keeping(keys_days=1, decisions_months=5), NOW)

    async def balance() -> conservation.Balance:
        async with read_connection(url) as connection:
            return await conservation.load_balance(connection, accepted=5, unfinished=0)

    gone = as_worker(url, work)
    after = asyncio.run(balance())

    assert {table: rows for table, rows in gone.items() if rows} == {
        "quarantine": 1,
        "held_drafts": 1,
        "event_keys": 3,
        "ai_decisions_months": 3,
    }
    assert (after.decided, after.audited, after.purged, after.purged_audit) == (2, 2, 3, 3)
    assert after.holds


ANSWER = """
    INSERT INTO answers (id, decision_id, decision_at, user_id, conversation_id, message_id, scope, outcome,
        text, person, released, rules_version, created_at)
    VALUES (gen_random_uuid(), gen_random_uuid(), now(), 'swept', 'c', 'm', 'chat', 'written', 'Hello', 'kim',
        false, 1, %s)
"""
REPLY = """
    INSERT INTO outbox (user_id, event_id, decision_id, conversation_id, message_id, scope, text, created_at,
        delivered_at, cancelled_at, cancel_settled)
    VALUES ('swept', %(name)s, gen_random_uuid(), 'c', 'm', 'chat', 'Hello', %(at)s,
        CASE WHEN %(state)s = 'sent' THEN %(at)s END, CASE WHEN %(state)s <> 'sent' THEN %(at)s END,
        %(state)s = 'settled')
"""


def test_texts_go_with_the_months_of_the_audit(database_url: str, owner: Rows) -> None:
    """Answers and ended replies of whole months; a reply that has not ended stays."""
    settings = keeping(decisions_months=5)
    (month,) = [each.limit(settings, NOW) for each in RETENTION if each.table == "answers"]
    assert month is not None
    former, kept = month - timedelta(hours=1), month + timedelta(hours=1)
    for name, at in (("former", former), ("kept", kept)):
        owner.execute(ANSWER, (at,))
        for state in ("sent", "settled", "cancelled"):
            owner.execute(REPLY, {"name": f"{name} {state}", "state": state, "at": at})
    owner.execute("UPDATE outbox SET id = id - 1000000 WHERE user_id = 'swept'")  # older than all others
    as_worker(database_url, lambda source: sweep(source, settings, NOW, only=("answers", "outbox")))
    answers = owner.execute("SELECT created_at FROM answers WHERE user_id = 'swept'").fetchall()
    replies = owner.execute("SELECT event_id FROM outbox WHERE user_id = 'swept' ORDER BY id").fetchall()
    with owner.transaction():
        owner.execute("SET LOCAL hushgate.erasing = on")
        owner.execute("DELETE FROM answers WHERE user_id = 'swept'")
        owner.execute("DELETE FROM outbox WHERE user_id = 'swept'")

    assert answers == [{"created_at": kept}]
    assert [row["event_id"] for row in replies] == [
        "former cancelled", "kept sent", "kept settled", "kept cancelled",
    ]  # fmt: skip


@pytest.mark.parametrize(("before", "left"), [(date(2025, 5, 31), {"2025_05"}), (date(2025, 6, 1), set())])
def test_a_month_goes_only_when_it_is_over(
    database_url: str, owner: Rows, before: date, left: set[str]
) -> None:
    """A partition is dropped whole, so all of it must be past its time."""
    as_worker(
        database_url,
        lambda source: record_decision(source, decided(at=datetime(2025, 5, 9, tzinfo=UTC))),
    )
    owner.execute("SELECT hushgate_drop_partitions(%s)", (before,))
    still = {name.removeprefix("ai_decisions_") for name in partitions(owner)}

    assert still & {"2025_05"} == left


def test_retention_reads_no_month_out_of_the_name_of_an_index(owner: Rows) -> None:
    """With every plan of the catalogue query, nothing is dropped and nothing fails."""
    before = partitions(owner)
    owner.execute("SET enable_nestloop = off")
    owner.execute("SET enable_indexscan = off")
    try:
        dropped = owner.execute("SELECT hushgate_drop_partitions('1990-01-01')").fetchone()
    finally:
        owner.execute("RESET ALL")

    assert dropped == {"hushgate_drop_partitions": 0}
    assert before
    assert partitions(owner) == before


def test_retention_never_takes_what_is_young(worker: Rows) -> None:
    """The worker's login cannot erase the recent audit."""
    for call in (
        "hushgate_drop_partitions(current_date)",
        *(
            f"hushgate_sweep_rows('{table}', now(), NULL, 9)"
            for table in ("event_keys", "outgoing_events", "escalations", "answers", "outbox")
        ),
    ):
        with pytest.raises(psycopg.errors.RaiseException, match=r"retention: expected a .* days? ago"):
            worker.execute(f"SELECT {call}".encode())


def test_retention_knows_its_tables_only(worker: Rows) -> None:
    """The function runs with the owner's rights; its argument must not choose what they reach."""
    for table in ("ai_rules", "event_keys; DROP TABLE outbox"):
        with pytest.raises(psycopg.errors.RaiseException, match="does not know"):
            worker.execute("SELECT hushgate_sweep_rows(%s, now(), NULL, 9)", (table,))


SEED = """
    INSERT INTO ai_rules (
        user_id, ai_control_enabled, ai_enabled_for_chats, ai_enabled_for_comments,
        flagged_keywords, flagged_phrases)
    VALUES ('user_123', true, true, true,
        ARRAY['spam', 'viagra', 'scam'], ARRAY['buy now', 'click here'])
"""


def test_the_plain_insert_of_the_older_system_is_a_new_version(database_url: str, owner: Rows) -> None:
    """Silent Guardrails's statement works as it stands, again and again."""
    for _ in range(3):
        owner.execute(SEED)
    loaded = as_worker(database_url, lambda source: accounts.current_account(source, "user_123"))

    assert loaded == Account(
        user_id="user_123",
        version=3,
        ai_control_enabled=True,
        ai_enabled_for_chats=True,
        ai_enabled_for_comments=True,
        flagged_keywords=("spam", "viagra", "scam"),
        flagged_phrases=("buy now", "click here"),
    )


def test_an_account_comes_back_as_it_was_stored(database_url: str) -> None:
    """Every field, and the version it got."""
    full = account(
        user_id="full",
        flagged_keywords=("a", "ü"),
        moderation_thresholds={"hate/threatening": 0.25},
        moderation_failure=FailurePolicy.BLOCK,
        languages=("en", "vi"),
        prompt="Be kind.",
        assessment_policy={"name": "guardrail"},
        fallback_texts={"en": "Soon."},
        disclosure_texts={"en": "An AI answers."},
        escalation_queues={"*": "others"},
        business_hours={"mon": "09:00-17:00"},
        holidays=("2026-12-25",),
        hold_max_s=1.5,
        moderators=(
            ModeratorChoice(name="b", endpoint="guard", failure=FailurePolicy.ALLOW, policy="No."),
            ModeratorChoice(name="a", endpoint="other", thresholds={"S1": 0.25}),
        ),
        moderation_combination=Combination.FIRST,
    )

    async def work(source: Pool) -> tuple[int, Account, dict[str, int]]:
        version = await accounts.store_account(source, full, changed_by="test")
        return (
            version,
            await accounts.current_account(source, "full"),
            await accounts.current_versions(source, ["full", "none"]),
        )

    version, loaded, versions = in_pool(database_url, work, role=None)

    assert (version, versions) == (1, {"full": 1})
    assert loaded == account(**{name: getattr(full, name) for name in Account.__slots__} | {"version": 1})


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("flagged_keywords", "ARRAY['spam', NULL]"),
        ("allowed", "ARRAY[NULL]::text[]"),
        ("moderation_thresholds", """'{"hate": "0.5"}'"""),
        ("moderation_thresholds", """'{"hate": 1.01}'"""),
        ("moderation_thresholds", "'[]'"),
        ("fallback_texts", """'{"en": 5}'"""),
        ("disclosure_texts", """'{"en": 5}'"""),
        ("handoff_texts", """'{"en": 5}'"""),
        ("business_hours", "'[]'"),
        ("assessment_policy", "'[]'"),
        ("moderation_failure", "'pray'"),
        ("moderators", "'{}'"),
        ("moderators", """'["house"]'"""),
        ("moderators", """'[{"name": "house"}]'"""),
        ("moderators", """'[{"name": 5, "endpoint": "guard"}]'"""),
        ("moderation_combination", "'some'"),
        ("hold_max_s", "-1"),
    ],
)
def test_settings_that_would_break_a_worker_cannot_be_stored(owner: Rows, column: str, value: str) -> None:
    """People write SQL too, and past the command line's own checks."""
    with pytest.raises(psycopg.errors.CheckViolation):
        owner.execute(f"INSERT INTO ai_rules (user_id, {column}) VALUES ('bad', {value})")


def test_concurrent_changes_of_one_account_all_get_a_version(database_url: str) -> None:
    """No change is lost and none is refused."""

    async def run() -> list[int]:
        async with create_pool(database_url, size=8, application="test", role=None) as source:
            writes = (
                accounts.store_account(source, account(user_id="busy"), changed_by="t") for _ in range(20)
            )
            return list(await asyncio.gather(*writes))

    assert sorted(asyncio.run(run())) == list(range(1, 21))
