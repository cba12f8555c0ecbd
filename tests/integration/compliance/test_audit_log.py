"""The transparency log on a real database: what is changed afterwards is found, what is erased is not."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from compliance.audit_log import appending, stored
from compliance.audit_log.appending import LogBroken
from compliance.audit_log.checkpoints import new_key, signer_of
from compliance.audit_log.entries import LOGGED, LeafKind
from compliance.erasure.records import ErasureKind
from tests.support.audit_log import (
    KEYS,
    LIMITS,
    append,
    change,
    log_database,
    logged,
    problems,
    review,
    verified,
)
from tests.support.auditing import ago, decided, store
from tests.support.erasing import KEY, erase_rows_only
from tests.support.terminal import Shell, shell_at
from worker.model import Decision

SCRIPT = Path(__file__).resolve().parents[3] / "examples" / "verify_audit_log.py"


@pytest.fixture
def url(stack: Any, template: str) -> str:
    """A migrated database of this test's own, with stored retention limits."""
    return log_database(stack.database_url, template)


def test_a_key_file_is_made_once_and_its_verifier_key_is_printed(url: str, tmp_path: Path) -> None:
    """The log begins without a step by hand; a key of the environment wins."""
    shell, key = shell_at(tmp_path, DATABASE_URL=url), tmp_path / "key"
    ended = [shell.run("audit-log", "append", "--key-file", str(key)) for _ in range(2)]
    printed = [each.err.strip().removeprefix("verifier key ") for each in ended]
    verified = shell.run("audit-log", "verify", "--verifier-key", printed[0])
    given = shell.run(
        "audit-log", "append", "--key-file", "none", env={"HUSHGATE_AUDIT_LOG_KEY": f"other+{new_key()}"}
    )
    away = shell.run("audit-log", "append", "--key-file", str(tmp_path / "none" / "key"))
    (tmp_path / "wrong").write_text("hushgate+AAAA")
    wrong = shell.run("audit-log", "append", "--key-file", str(tmp_path / "wrong"))

    assert [each.code for each in (*ended, verified, away, wrong, given)] == [0, 0, 0, 3, 3, 1]
    assert wrong.err.startswith(f"--key-file {tmp_path / 'wrong'}: expected 32 bytes")
    assert "add it to HUSHGATE_AUDIT_LOG_VERIFIERS" in given.err
    assert printed[0] == printed[1]
    assert key.stat().st_mode & 0o777 == 0o600
    assert "verifier key" not in given.err
    assert "--key-file: expected a file to read or make" in away.err


def test_decisions_and_reviews_are_appended_once(url: str) -> None:
    """A second run adds nothing; a review is a leaf of its own."""
    made = logged(url)
    assert append(url).leaves == 0

    review(url, made[0])
    appended = append(url)
    result = verified(url)

    assert (appended.leaves, appended.size) == (1, LIMITS + 4)
    assert (result.leaves, result.compared, problems(result)) == (LIMITS + 4, LIMITS + 4, [])


def changed_row(decision: Decision) -> tuple[str, object]:
    return "UPDATE ai_decisions SET reason = 'another' WHERE id = %s", decision.decision_id


def changed_snapshot(decision: Decision) -> tuple[str, object]:
    return (
        "UPDATE ai_decisions SET snapshot_json = snapshot_json || '{\"tokens\": 1}' WHERE id = %s",
        decision.decision_id,
    )


def deleted_row(decision: Decision) -> tuple[str, object]:
    return "DELETE FROM ai_decisions WHERE id = %s", decision.decision_id


def deleted_salt(decision: Decision) -> tuple[str, object]:
    return "UPDATE audit_log_leaves SET salt = NULL WHERE subject_id = %s", decision.decision_id


@pytest.mark.parametrize(
    ("act", "problem"),
    [
        (changed_row, "row changed"),
        (changed_snapshot, "row changed"),
        (deleted_row, "row missing"),
        (deleted_salt, "salt missing"),
    ],
)
def test_a_changed_row_is_found(
    url: str, act: Callable[[Decision], tuple[str, object]], problem: str
) -> None:
    """By its id, and only it."""
    made = logged(url)

    change(url, *act(made[1]))

    assert problems(verified(url)) == [(problem, str(made[1].decision_id))]


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("DELETE FROM audit_log_checkpoints", "checkpoint wrong"),
        ("UPDATE ai_decisions SET snapshot_json = '[]'", "salt missing"),
        ("UPDATE audit_log_leaves SET due_from = 'infinity'", "row changed"),
        ("UPDATE audit_log_removals SET subjects = '5'", "row changed"),
        ("UPDATE audit_log_removals SET subjects = '[{}]'", "row changed"),
        ("UPDATE erasures SET receipt = '5'", "removal not proven"),
    ],
)
def test_leaves_without_a_signed_root_and_values_of_no_use_are_named(
    url: str, statement: str, problem: str
) -> None:
    """The verification reports them instead of ending with an error of its own."""
    logged(url)
    erase(url, ErasureKind.AUTHOR, "amy")
    append(url)

    change(url, statement)

    assert problem in {each for each, _ in problems(verified(url))}


def test_a_changed_leaf_breaks_the_signed_root_and_nothing_more_is_signed(url: str) -> None:
    """Whoever changes the row with its leaf cannot sign the root."""
    made = logged(url)
    change(url, "UPDATE audit_log_leaves SET hash = sha256(hash) WHERE subject_id = %s", made[0].decision_id)

    with pytest.raises(LogBroken, match="does not have the root that was signed"):
        append(url)

    assert ("checkpoint wrong", "") in problems(verified(url))


def test_a_row_that_never_got_a_leaf_is_found_after_a_day(url: str) -> None:
    """Such as one that was inserted with an old time."""
    made = logged(url)
    late = decided(at=ago(days=5))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT hushgate_ensure_partitions(%s, 1)", (late.decided_at.date(),))
    store(url, [late])
    append(url)  # looks back three minutes only

    assert problems(verified(url)) == [("row without a leaf", str(late.decision_id))]
    assert len(made) == 3


def test_a_row_committed_days_late_is_found_by_the_first_run_of_a_day(url: str) -> None:
    """Postgres may be down while decisions wait to be stored."""
    logged(url)
    late = decided(at=ago(hours=30))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT hushgate_ensure_partitions(%s, 1)", (late.decided_at.date(),))
    store(url, [late])

    assert append(url, at=datetime.now(UTC) + timedelta(days=1)).leaves == 1


def test_a_log_that_was_cut_is_found_with_a_kept_checkpoint(url: str) -> None:
    """Somebody who removes the newest leaves and checkpoints leaves a log that fits; a kept one does not."""
    logged(url)
    shorter = verified(url)
    store(url, [decided(at=ago(seconds=1))])
    kept = append(url).checkpoint
    change(url, "DELETE FROM audit_log_leaves WHERE position = %s", LIMITS + 3)
    change(url, "DELETE FROM audit_log_checkpoints WHERE size = %s", LIMITS + 4)

    assert shorter.leaves == LIMITS + 3
    assert problems(verified(url)) == []
    assert problems(verified(url, witness=kept)) == [("leaf missing", "")]


def erase(url: str, kind: ErasureKind, subject: str, *, key: bytes | None = KEY) -> UUID:
    """An erasure that has ended, with its receipt."""
    return asyncio.run(erase_rows_only(url, kind, subject, key=key)).id


def test_an_erased_row_stays_in_a_valid_tree_and_what_it_keeps_is_compared(url: str) -> None:
    """The salt of its texts is gone, so guesses cannot be tested; the erasure is a leaf itself."""
    made = logged(url, authors=("amy", "bob", "cleo"))
    erase(url, ErasureKind.AUTHOR, "bob")

    appended = append(url)
    result = verified(url)

    assert appended.leaves == 1
    assert (result.emptied, result.under_way, problems(result)) == (1, 0, [])
    with psycopg.connect(url) as connection:
        query = "SELECT salt, kept_salt IS NOT NULL FROM audit_log_leaves WHERE subject_id = %s"
        assert connection.execute(query, (made[1].decision_id,)).fetchone() == (None, True)

    change(url, "UPDATE ai_decisions SET reason_code = 'OTHER' WHERE id = %s", made[1].decision_id)

    assert problems(verified(url)) == [("row changed", str(made[1].decision_id))]


def test_a_review_whose_note_is_erased_counts_as_emptied(url: str) -> None:
    """The note of a review may name the person who was erased."""
    made = logged(url, authors=("amy", "bob"))
    review(url, made[1], note="bob again")
    append(url)
    erase(url, ErasureKind.AUTHOR, "bob")

    result = verified(url)

    assert (result.emptied, problems(result)) == (2, [])


def test_an_erasure_is_believed_with_its_receipt_only(url: str) -> None:
    """For a day after its end the signature may be missing; that of another key never counts."""
    made = logged(url, authors=("amy", "bob"))
    erase(url, ErasureKind.AUTHOR, "bob", key=None)
    now = verified(url)
    later = verified(url, now=datetime.now(UTC) + timedelta(days=2))
    without = verified(url, now=datetime.now(UTC) + timedelta(days=2), receipt_keys=())

    assert any("needs --receipt-key" in each.detail for each in without.problems)
    assert (now.emptied, now.under_way, problems(now)) == (1, 1, [])
    assert {each for each, _ in problems(later)} >= {"removal not proven", "salt missing"}
    assert ("salt missing", str(made[1].decision_id)) in problems(later)

    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute("UPDATE erasures SET signature = %s", ("0000000000000000:AAAA",))

    assert "removal not proven" in {each for each, _ in problems(verified(url))}


def test_an_erasure_during_a_verification_is_no_alarm(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is compared as it was when the verification began."""
    monkeypatch.setattr(stored, "BATCH", 1)
    logged(url, authors=("amy", "bob", "cleo"))
    erased: list[UUID] = []

    def interfere(_leaves: int) -> None:
        if not erased:
            with ThreadPoolExecutor(1) as other:
                erased.append(other.submit(erase, url, ErasureKind.ACCOUNT, "acme").result())

    result = verified(url, progress=interfere)

    assert (len(erased), result.emptied, problems(result)) == (1, 0, [])
    assert (verified(url).emptied, problems(verified(url))) == (3, [])


def test_a_month_that_retention_dropped_is_counted_and_not_reported(url: str) -> None:
    """It is recorded with the drop; its salts go in steps."""
    old = decided(at=ago(days=900))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT hushgate_ensure_partitions(%s, 1)", (old.decided_at.date(),))
    store(url, [old])
    logged(url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT hushgate_drop_partitions(%s)", (ago(days=800).date(),))
    dropped = verified(url)
    append(url)
    result = verified(url)

    assert (dropped.deleted, problems(dropped)) == (1, [])
    assert (result.deleted, problems(result)) == (1, [])
    with psycopg.connect(url) as connection:
        query = "SELECT count(*) FROM audit_log_leaves WHERE kept_salt IS NULL"
        assert connection.execute(query).fetchone() == (1,)


def test_rows_that_a_sweep_deleted_are_counted_and_not_reported(url: str) -> None:
    """A review goes by the time of its decision, even if it is younger than the limit."""
    old = decided(at=ago(days=900))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT hushgate_ensure_partitions(%s, 1)", (old.decided_at.date(),))
    store(url, [old])
    review(url, old)
    append(url)
    sweep = "SELECT deleted FROM hushgate_sweep_rows(%s, now() - interval '800 days', NULL, 100)"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET ROLE hushgate_worker")
        swept = [
            connection.execute(sweep, (table,)).fetchone() for table in ("decision_reviews", "ai_decisions")
        ]

    assert swept == [(1,), (1,)]
    assert (verified(url).deleted, problems(verified(url))) == (2, [])


def test_sample_data_is_not_logged(url: str) -> None:
    """Anyone may remove it at any time."""
    store(url, [decided(at=ago(seconds=1), user_id="hushgate-sample")])
    size = append(url).leaves
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET ROLE hushgate_reviewer")
        assert connection.execute("SELECT hushgate_remove_sample()").fetchone() == (1,)

    assert (size, problems(verified(url))) == (LIMITS, [])


def test_many_rows_are_appended_in_batches(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Complete subtrees are stored on the way; a proof needs few reads."""
    monkeypatch.setattr(appending, "BATCH", 100)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO ai_decisions (created_at, id, user_id, event_id, message_id, conversation_id,"
            " author_id, scope, decision, confidence, reason_code, reason, message_text, snapshot_json,"
            " degraded) SELECT now() - number * interval '1 ms', gen_random_uuid(), 'acme', 'e', 'm', 'c',"
            " 'a', 'chat', 'ignore', 1, 'AI_DISABLED', '', '', '{}', false"
            " FROM generate_series(1, 530) AS number"
        )

    rounds, since = 1, append(url).rest_since
    while since is not None:
        rounds, since = rounds + 1, append(url, since=since).rest_since
    result = verified(url)

    assert (rounds, result.leaves, result.checkpoints, problems(result)) == (4, LIMITS + 530, 4, [])
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT count(*) FROM audit_log_nodes").fetchone() == (2,)


def test_a_new_key_continues_the_log(url: str) -> None:
    """Old checkpoints are accepted with the old key, and reported without it."""
    logged(url)
    renewed = signer_of("test", new_key())
    store(url, [decided(at=ago(seconds=1))])

    append(url, signer=renewed, former=KEYS)

    assert problems(verified(url, keys=KEYS | {renewed.verifier_key()})) == []
    assert problems(verified(url, keys=frozenset({renewed.verifier_key()}))) == [("checkpoint wrong", "")]


def test_leaves_cover_every_column_of_their_tables(url: str) -> None:
    """Who decided, with which settings, and what retention may delete; but for the time of sealed texts."""
    query = (
        "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped"
    )
    with psycopg.connect(url) as connection:
        stored = {
            kind: {name for (name,) in connection.execute(query, (each.table,)).fetchall()}
            for kind, each in LOGGED.items()
        }

    assert {kind: stored[kind] - {*each.kept, *each.erasable} for kind, each in LOGGED.items()} == {
        kind: set() for kind in LOGGED
    } | {LeafKind.REVIEW: {"sealed_until"}}


@pytest.fixture
def shell(url: str, tmp_path: Path) -> Shell:
    """A shell with a key."""
    key = f"example.org/log+{new_key()}"
    return shell_at(tmp_path, DATABASE_URL=url, HUSHGATE_AUDIT_LOG_KEY=key)


def script(shell: Shell, name: str, text: str, key: str) -> tuple[int, str]:
    """The verifier that others run, on a file with this text."""
    (shell.folder / name).write_text(text, encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, str(SCRIPT), name, key],
        cwd=shell.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.returncode, ended.stdout + ended.stderr


def test_others_verify_an_export_and_a_proof_with_one_script(url: str, shell: Shell) -> None:
    """Without our code; a changed word in either is found."""
    made = [decided(at=ago(seconds=2), user_id="mine"), decided(at=ago(seconds=1), user_id="theirs")]
    store(url, made)
    assert shell.run("audit-log", "append").code == 0
    leaves = LIMITS + 2

    exported = shell.run("audit-log", "export", "--account", "mine", "--output", "-").out
    proof = shell.run("audit-log", "prove", str(made[1].decision_id)).out
    key = json.loads(proof)["verifier_key"]

    assert script(shell, "log.ndjson", exported, key) == (
        0, f"{LIMITS + 1} rows verified in a log of {leaves} leaves\n",
    )  # fmt: skip
    assert script(shell, "proof.json", proof, key) == (0, f"1 rows verified in a log of {leaves} leaves\n")
    bare = {name: each for name, each in json.loads(proof).items() if name not in ("kept", "erasable")}
    assert script(shell, "bare.json", json.dumps(bare), key)[1].startswith("0 rows verified")
    assert "theirs" not in exported
    code, said = script(shell, "log.ndjson", exported.replace("mine", "ours"), key)
    assert (code, said) == (1, f"not verified: position {LIMITS}: the row does not fit its hash\n")
    code, said = script(shell, "cut.ndjson", "".join(exported.splitlines(keepends=True)[:-1]), key)
    assert (code, said) == (1, f"not verified: expected the leaves 0 to {leaves - 1}, got {leaves - 1}\n")
    code, said = script(shell, "proof.json", proof, "KEY")
    assert (code, said.partition(" as")[0]) == (1, "not verified: VERIFIER_KEY: expected name+id+key,")
    asked = subprocess.run(
        [sys.executable, str(SCRIPT), "--help"], capture_output=True, text=True, check=False
    )
    assert "verify_audit_log.py proof.json VERIFIER_KEY" in asked.stderr


def test_the_commands_say_what_is_wrong(url: str, shell: Shell) -> None:
    """No key, an id without a leaf, an empty log, a changed row."""
    unknown = "01a20038-0a4e-7283-be93-352da35370fd"
    assert shell.run("audit-log", "append", env={"HUSHGATE_AUDIT_LOG_KEY": None}).code == 3
    assert shell.run("audit-log", "prove", unknown).code == 1
    assert shell.run("audit-log", "export", "--output", "-").code == 1

    made, key = logged_by(shell, url)
    public = {"HUSHGATE_AUDIT_LOG_KEY": None, "HUSHGATE_AUDIT_LOG_VERIFIERS": key}
    assert shell.run("audit-log", "verify").code == 3
    assert shell.run("audit-log", "verify", env=public).code == 0
    change(url, *changed_row(made))
    ended = shell.run("audit-log", "verify", "--verifier-key", key, env={"HUSHGATE_AUDIT_LOG_KEY": None})

    assert ended.code == 1
    assert [row["problem"] for row in ended.rows] == ["row changed"]


def test_removals_since_a_kept_checkpoint_are_printed_and_can_fail(url: str, shell: Shell) -> None:
    """Also a new retention limit."""
    _, key = logged_by(shell, url)
    (shell.folder / "kept.txt").write_text(shell.run("audit-log", "append").rows[0]["checkpoint"])
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute(
            "INSERT INTO retention_limits (id, table_name, keep_days)"
            " VALUES (gen_random_uuid(), 'ai_decisions', 90)"
        )
    command = ("audit-log", "verify", "--verifier-key", key, "--checkpoint", "kept.txt")
    said, failed = shell.run(*command), shell.run(*command, "--no-removals")

    assert (said.code, failed.code) == (0, 1)
    assert "ai_decisions is kept 90 days" in said.err
    assert [row["problem"] for row in failed.rows] == ["removed since the checkpoint"]


def logged_by(shell: Shell, url: str) -> tuple[Decision, str]:
    """A decision that a command appended, and the verifier key of the log."""
    made = decided(at=ago(seconds=1))
    store(url, [made])
    assert shell.run("audit-log", "append").rows[0]["leaves"] == LIMITS + 1
    proof = shell.run("audit-log", "prove", str(made.decision_id)).out
    return made, str(json.loads(proof)["verifier_key"])
