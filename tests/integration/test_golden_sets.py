"""Golden sets on real servers: what gets in, what is measured, what leaves them, and who may."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import psycopg
import pytest

from sandbox.routes import CHAT_MODEL
from tests.support.running import Running
from tests.support.terminal import Ended, Shell
from worker.recordings.stored import decoded

HOURS = {"Opening hours": ["We are open from nine to six on weekdays.", "On Sunday the shop is closed."]}
QUESTION = "When are you open on weekdays?"
THREAT = "I will kill you"
ROW_A = {"id": "a", "text": "x", "expected": "silent"}
PRICED = ("openai/gpt-4.1-mini", CHAT_MODEL)


@pytest.fixture
def shell(engine: Running, tmp_path: Path) -> Shell:
    """A shell with the keys of a worker."""
    environment = {
        "DATABASE_URL": engine.url,
        "REDIS_URL": engine.redis_url,
        "HUSHGATE_MODEL_URL": engine.sandbox.base_url,
        "HUSHGATE_MODEL_KEY": "sandbox",
        "HUSHGATE_MODEL_FIRST_WAIT_S": "0.01",
        "HUSHGATE_MODEL_TIMEOUT_S": "5",
        "HUSHGATE_MODERATION_REUSE_S": "0",
        "HUSHGATE_PRICES": json.dumps(
            [{"model": each, "since": "2026-01-01", "prompt": 0.4, "completion": 1.6} for each in PRICED]
        ),
        "HOME": str(tmp_path),
    }
    return Shell(environment=environment, folder=tmp_path)


def rows_of(*rows: dict[str, Any]) -> bytes:
    """Rows as NDJSON."""
    return b"".join(json.dumps(each).encode() + b"\n" for each in rows)


def review(engine: Running, decision: Any, person: str, ruling: str, corrected: str | None = None) -> None:
    """A standing review."""
    engine.database.execute(
        "INSERT INTO decision_reviews (id, decision_id, decision_at, user_id, person, ruling,"
        " corrected_decision, source) SELECT gen_random_uuid(), id, created_at, user_id, %s, %s, %s, 'page'"
        " FROM ai_decisions WHERE id = %s",
        (person, ruling, corrected, decision),
    )


def evaluated(shell: Shell, account: str, *words: str, env: dict[str, str | None] | None = None) -> Ended:
    """The set ``s`` of an account evaluated."""
    return shell.run("trials", "eval", "--account", account, "--set", "s", *words, env=env)


def imported(shell: Shell, account: str, rows: bytes) -> Ended:
    """Rows imported into the set ``s`` of an account."""
    return shell.run("trials", "golden", "import", account, "s", "-", stdin=rows)


def arms_of(ended: Ended) -> list[dict[str, Any]]:
    """The arms of NDJSON."""
    return [row["arm"] for row in ended.rows if "arm" in row]


def test_a_set_of_rows_is_evaluated(engine: Running, shell: Shell, tmp_path: Path) -> None:
    """Each item is decided by the real pipeline; the figures, the report and the stored run agree."""
    shop = engine.account(documents=HOURS)
    rows = rows_of(
        {"id": "open", "text": QUESTION, "expected": "answer"},
        {"id": "threat", "text": THREAT, "expected": "silent", "reason": "MODERATION_FLAGGED"},
        {"id": "wrong", "text": "When are you open on Sunday?", "expected": "silent"},
    )
    shell.run("trials", "golden", "create", shop, "s", "--purpose", "a test")
    added = imported(shell, shop, rows)
    before = engine.row("SELECT count(*) AS n FROM ai_decisions")
    ended = evaluated(shell, shop, "--junit", "report.xml", "--least", "recall=1", "--least", "accuracy=0.6")
    strict = evaluated(shell, shop, "--least", "precision=0.9", "--json")
    suite = ET.parse(tmp_path / "report.xml").getroot()[0]
    (arm,) = arms_of(ended)
    run = engine.row("SELECT arms, plan, state FROM trials WHERE kind = 'evaluation' ORDER BY id LIMIT 1")

    assert (added.code, added.rows[0]["added"]) == (0, 3), added.err
    assert (ended.code, strict.code) == (0, 1), ended.err + strict.err
    assert (arm["right_answers"], arm["wrong_answers"], arm["right_silence"]) == (1, 1, 1)
    assert arm["reasons"]["share"] == 1.0
    assert arm["usd"] > 0
    assert arm["latency_p95_ms"] >= arm["latency_p50_ms"] > 0
    assert "precision: expected at least 0.9, got 0.5000" in strict.err
    assert json.loads(strict.out)["arms"][0]["results"][2]["right"] is False
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("6", "1", "0")
    assert QUESTION not in (tmp_path / "report.xml").read_text()
    assert run is not None
    assert run["arms"][0]["accuracy"] == arm["accuracy"]
    assert (run["plan"], run["state"]) == ({"set_version": 2}, "finished")
    assert "about 0.00" in ended.err
    assert engine.row("SELECT count(*) AS n FROM ai_decisions") == before


def test_a_candidate_and_models_are_compared(engine: Running, shell: Shell) -> None:
    """One arm a model; a setting changes what is decided, as does a candidate."""
    shop = engine.account(documents=HOURS)
    shell.run("trials", "golden", "create", shop, "s")
    imported(shell, shop, rows_of({"text": QUESTION, "expected": "answer"}))
    stops = 'flagged_keywords=["weekdays"]'
    candidate = shell.run("trials", "candidates", "add", shop, "--set", stops).rows[0]["candidate_id"]
    live = evaluated(shell, shop, "--model", "openai/gpt-4.1-mini", "--model", "other/model")
    changed = evaluated(shell, shop, "--set-option", stops, "--least", "recall=1")
    tried = evaluated(shell, shop, "--candidate", candidate)

    assert [(each["model"], each["recall"]["share"]) for each in arms_of(live)] == [
        ("openai/gpt-4.1-mini", 1.0),
        ("other/model", 1.0),
    ]
    assert live.code == 0, live.err
    assert "HUSHGATE_PRICES lacks the model" in live.err
    assert (changed.code, arms_of(changed)[0]["recall"]["share"]) == (1, 0.0)
    assert arms_of(tried)[0]["candidate_id"] == candidate
    assert arms_of(tried)[0]["wrong_silence"] == 1


def test_what_cannot_be_measured_never_passes(engine: Running, shell: Shell) -> None:
    """A failing model, a missing key, an empty set, a spent budget and an unknown set all end in an error."""
    shop = engine.account(documents=HOURS)
    shell.run("trials", "golden", "create", shop, "s")
    empty = evaluated(shell, shop)
    rows = [{"text": f"{QUESTION} {number}", "expected": "silent"} for number in range(5)]
    imported(shell, shop, rows_of(*rows))
    keyless = evaluated(shell, shop, env={"HUSHGATE_MODEL_KEY": None, "HUSHGATE_MODEL_URL": None})
    away = {"HUSHGATE_MODEL_URL": "http://127.0.0.1:9/v1", "HUSHGATE_MODERATION": "off"}
    refused = evaluated(shell, shop, env={**away})
    spent = evaluated(shell, shop, "--budget", "0.000001", "--at-once", "1")
    unpriced = evaluated(shell, shop, "--budget", "9", "--at-once", "1", env={"HUSHGATE_PRICES": None})
    money = ("--budget", "0.000001", "--at-once", "5")
    together = [
        evaluated(shell, shop, *money),
        evaluated(shell, shop, *money, env={"HUSHGATE_PRICES": None}),
    ]
    unknown = shell.run("trials", "eval", "--account", shop, "--set", "none")
    wrong = evaluated(shell, shop, "--least", "f1=1")

    codes = [each.code for each in (empty, keyless, refused, spent, unpriced, unknown, wrong)]

    assert codes == [1, 3, 1, 1, 1, 1, 2]
    assert [each.code for each in together] == [1, 1]
    assert all("--budget: ended after 5 of 5 items" in each.err for each in together)
    assert "expected one with items" in empty.err
    assert "HUSHGATE_MODEL_KEY" in keyless.err
    assert arms_of(refused)[0]["failures"] == {"LLM_ERROR": 5}
    assert arms_of(refused)[0]["accuracy"] is None
    assert "decided: expected at least 1, got 0.0000" in refused.err
    assert "--budget: ended after 1 of 5 items: 0.000" in spent.err
    assert f"ended after 1 of 5 items: no declared price of {CHAT_MODEL}" in unpriced.err
    assert "f1" in wrong.err


def test_a_misspelt_account_is_named(shell: Shell) -> None:
    """Each command names the account and stores nothing."""
    change = ("--set", "hold_max_s=60")
    ended = [
        shell.run("trials", "candidates", "add", "no-such-shop", *change),
        shell.run("trials", "golden", "create", "no-such-shop", "s"),
        shell.run("trials", "backtest", "--account", "no-such-shop", *change),
        shell.run("trials", "shadow", "list", "no-such-shop"),
        shell.run("trials", "suggestions", "no-such-shop"),
        shell.run("trials", "errors", "--account", "no-such-shop"),
        shell.run("trials", "calibration", "no-such-shop"),
    ]

    assert [each.code for each in ended] == [1] * 7
    assert all("got 'no-such-shop'" in each.err for each in ended)
    assert shell.run("trials", "candidates", "list", "no-such-shop").rows == []


def test_decisions_become_items_with_what_was_seen(engine: Running, shell: Shell) -> None:
    """Agreed reviews, known answers and edited drafts are labels; one reader, or two who differ, are none."""
    shop = engine.account(documents=HOURS, flagged_keywords=["kill"])  # stops before the search
    ids = [engine.decide(shop, text)["id"] for text in (QUESTION, THREAT, "When are you open on Sunday?")]
    fourth, fifth = (engine.decide(shop, f"{QUESTION} {each}")["id"] for each in ("Please.", "Thanks."))
    for person in ("kim", "lee"):
        review(engine, ids[0], person, "overturn", "escalate")
        review(engine, ids[1], person, "agree")
    review(engine, ids[2], "kim", "agree")
    review(engine, fourth, "kim", "agree")
    review(engine, fourth, "lee", "overturn")
    engine.database.execute(
        "INSERT INTO answers (id, decision_id, decision_at, user_id, conversation_id, message_id, scope,"
        " outcome, text, person, released, rules_version, created_at) VALUES (gen_random_uuid(), %s, now(),"
        " %s, 'c', 'm', 'chat', 'edited', 'From nine.', 'kim', false, 1, now())",
        (fifth, shop),
    )
    shell.run("trials", "golden", "create", shop, "s")
    added = shell.run("trials", "golden", "add", shop, "s", "--agreed", "--edited-drafts")
    alone = shell.run("trials", "golden", "add", shop, "s", "--decision", str(ids[2]))
    named = shell.run("trials", "golden", "add", shop, "s", "--decision", str(ids[2]), "--expect", "answer")
    out = {row["id"]: row for row in shell.run("trials", "golden", "export", shop, "s").rows}
    recording = engine.row("SELECT data FROM recordings WHERE decision_id = %s", ids[0])

    assert (added.rows[0]["added"], added.code) == (3, 0), added.err
    assert (alone.rows[0], alone.code) == (
        {"set": "s", "added": 0, "known": 0, "left_out": {"no_agreement": 1}},
        1,
    )
    assert "--expect" in alone.err
    assert named.rows[0]["added"] == 1
    assert {key: row["expected"] for key, row in out.items()} == {
        str(ids[0]): "silent",
        str(ids[1]): "silent",
        str(ids[2]): "answer",
        str(fifth): "answer",
    }
    assert (out[str(ids[1])]["reason"], out[str(ids[1])]["labelled_by"]) == ("FLAGGED_RULE", "kim, lee")
    assert out[str(fifth)]["reply"] == "From nine."
    assert "passages" not in out[str(ids[1])]
    assert recording is not None
    shown = {p.passage_id for a in decoded(recording["data"]).answers if a.port == "search" for p in a.value}
    assert {each["id"] for each in out[str(ids[0])]["passages"]} == shown
    assert evaluated(shell, shop, "--least", "decided=1").code == 0


def test_good_rows_are_stored_beside_wrong_ones(engine: Running, shell: Shell) -> None:
    """Wrong rows are named with line and field; a second import and a round trip add nothing."""
    shop = engine.account()
    shell.run("trials", "golden", "create", shop, "s")
    good = [{"text": f"Hi {number}", "expected": "silent"} for number in range(3)]
    rows = rows_of(good[0], {"text": "x", "expected": "no"}, good[1], {"expected": "answer"}) + b"{\n\n"
    first = imported(shell, shop, rows)
    again = imported(shell, shop, rows_of(*good))
    exported = shell.run("trials", "golden", "export", shop, "s").out.encode()
    back = imported(shell, shop, exported)
    none = imported(shell, shop, b"[]\n")
    twice = shell.run("trials", "golden", "create", shop, "s")
    listed = shell.run("trials", "golden", "list", shop).rows[0]

    assert (first.code, first.rows[0]["added"], first.rows[0]["left_out"]) == (1, 2, {"wrong": 3}), first.err
    assert "line 2: expected: expected" in first.err
    assert "line 4: text: expected" in first.err
    assert "line 5: line: expected" in first.err
    assert (again.code, again.rows[0]["added"], again.rows[0]["known"]) == (0, 1, 2)
    assert (back.code, back.rows[0]["added"], none.code, twice.code) == (0, 0, 5, 5)
    assert (listed["items"], listed["version"]) == (3, 3)


def test_items_and_sets_are_removed(engine: Running, shell: Shell) -> None:
    """Every change is in the access log, with who made it."""
    shop = engine.account()
    shell.run("trials", "golden", "create", shop, "s")
    imported(shell, shop, rows_of(ROW_A))
    missing = shell.run("trials", "golden", "remove", shop, "s", "--row", "b")
    gone = shell.run("trials", "golden", "remove", shop, "s", "--row", "a")
    whole = shell.run("trials", "golden", "remove", shop, "s", "--whole-set")
    logged = engine.rows("SELECT detail FROM access_log WHERE user_id = %s AND action = 'settings'", shop)

    assert (missing.code, gone.code, whole.code) == (1, 0, 0), gone.err
    assert [row["detail"]["step"] for row in logged] == ["created", "added", "removed", "set removed"]
    assert shell.run("trials", "golden", "list", shop).rows == []


def test_a_deleted_message_takes_the_items_of_its_conversation(engine: Running, shell: Shell) -> None:
    """They hold the lines of the conversation, as recordings do; other items stay."""
    shop = engine.account(documents=HOURS)
    decision = engine.decide(shop, QUESTION, conversation_id="talk", message_id="m1")["id"]
    shell.run("trials", "golden", "create", shop, "s")
    shell.run("trials", "golden", "add", shop, "s", "--decision", str(decision), "--expect", "answer")
    imported(shell, shop, rows_of(ROW_A))
    engine.decide(shop, "", type="message_deleted", conversation_id="talk", message_id="m1", event_id="gone")
    left = engine.rows("SELECT row_id FROM golden_set_items WHERE user_id = %s", shop)

    assert left == [{"row_id": "a"}]


def test_workers_cannot_read_golden_sets(engine: Running) -> None:
    """Neither items nor sets nor results."""
    with psycopg.connect(engine.url, autocommit=True) as connection:
        connection.execute("SET ROLE hushgate_worker")
        for table in ("golden_sets", "golden_set_items", "trials", "trial_steps"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f"SELECT 1 FROM {table}")
