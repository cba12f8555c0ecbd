"""``hushgate trials replay`` and ``hushgate trials backtest`` of files, saved views and live models."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid4

import psycopg

from cli.exit_codes import ExitCode
from compliance.erasure.records import ErasureKind
from db.identifiers import uuid_at
from db.people.records import Role
from sandbox.routes import CHAT_MODEL
from sandbox.server import SandboxHandle
from tests.support.erasing import erase
from tests.support.reviewing import add_person
from tests.support.running import Running, eventually
from tests.support.terminal import HUSHGATE, PATIENCE_S, Shell

ROOT = Path(__file__).parents[2]
HOURS = {"Opening hours": ["We are open from nine to six on weekdays.", "On Sunday the shop is closed."]}
QUESTION = "When are you open on weekdays?"
STOPS = ("--set", 'flagged_keywords=["weekdays"]')


def save_view(engine: Running, name: str, query: str) -> str:
    """The login of a new person with this saved view."""
    secret = add_person(engine.url, Role.VIEWER)
    with psycopg.connect(engine.url) as connection:
        connection.execute(
            "INSERT INTO saved_views (id, person_id, name, query) SELECT %s, id, %s, %s FROM people"
            " WHERE login = %s",
            (uuid_at(datetime.now(UTC)), name, query, secret.login),
        )
    return str(secret.login)


def test_a_file_names_the_decisions(engine: Running, shell: Shell, tmp_path: Path) -> None:
    """Ids, lines of JSON and the command's own output are the same file; each decision is made once."""
    shop = engine.account(documents=HOURS)
    first, second = (str(engine.decide(shop, each)["id"]) for each in (QUESTION, "Open on Sunday?"))
    lines = (first, "", json.dumps({"decision_id": second, "why": "odd"}), json.dumps({"id": first}))
    (tmp_path / "ids").write_text("\n".join(lines))
    made = shell.run("trials", "replay", "--file", "ids")
    (tmp_path / "made").write_text(made.out)
    again = shell.run("trials", "replay", "--file", "made")

    assert made.code == 0, made.err
    assert [(each["id"], each["result"]) for each in made.rows] == [(first, "same"), (second, "same")]
    assert again.rows == made.rows


def test_the_text_of_a_handoff_is_no_reply_of_the_model(engine: Running, shell: Shell) -> None:
    """An escalation with a text for its author is made again without a difference."""
    shop = engine.account(documents=HOURS, handoff_texts={"en": "A person will answer."})
    handed = engine.decide(shop, "Do you repair phones?")
    made = shell.run("trials", "replay", str(handed["id"]))

    assert handed["decision"] == "escalate"
    assert [each["result"] for each in made.rows] == ["same"], made.out


def test_a_file_with_a_wrong_line_is_refused(shell: Shell, tmp_path: Path) -> None:
    """The message names the line; nothing is made again."""
    cases = {
        "12\n": "--file: line 1: expected an id, got '12'",
        f"{uuid4()}\n\n{{": "--file: line 3: expected JSON",
        '{"event_id": "1"}': "--file: line 1: expected the field id or decision_id, got event_id",
        "\n": "--file: expected one id a line, got no line",
    }
    for text, message in cases.items():
        (tmp_path / "ids").write_text(text)
        ended = shell.run("trials", "replay", "--file", "ids")
        assert (ended.code, ended.out) == (2, "")
        assert message in " ".join(ended.err.split())
    assert "No such file" in shell.run("trials", "replay", "--file", "none").err


def test_what_is_not_stored_and_what_lacks_answers_is_counted(engine: Running, shell: Shell) -> None:
    """An unknown id, an older decision without its recording and a tombstone are not guessed."""
    shop = engine.account(documents=HOURS)
    older, made = (engine.decide(shop, QUESTION)["id"] for _ in range(2))
    erased = engine.decide(shop, QUESTION, author_id="gone", conversation_id="gone")["id"]
    with psycopg.connect(engine.url) as connection:
        connection.execute("DELETE FROM recordings WHERE decision_id = %s", (older,))
    asyncio.run(erase(engine.url, engine.redis_url, shop, ErasureKind.AUTHOR, "gone"))
    ended = shell.run("trials", "replay", *map(str, (older, made, erased, uuid_at(datetime.now(UTC)))))

    assert [each["result"] for each in ended.rows] == ["not_recorded", "same", "erased"]
    assert ended.err.strip().endswith("1 erased, 1 not_found, 1 not_recorded, 1 same")
    assert ended.code == 1


def test_filters_without_a_decision_are_no_error_and_a_misspelt_account_is(
    engine: Running, shell: Shell
) -> None:
    """An account without decisions that match is fine; one of which nothing is stored is named."""
    shop = engine.account(documents=HOURS)
    known = shell.run("trials", "replay", "--account", shop, "--author", "unknown")
    misspelt = shell.run("trials", "replay", "--account", f"{shop}x")

    assert (known.code, known.out, known.err.strip()) == (0, "", "no decision")
    assert (misspelt.code, misspelt.out) == (1, "")
    assert f"decisions or documents, got '{shop}x'" in " ".join(misspelt.err.split())


def test_a_saved_view_names_the_decisions(engine: Running, shell: Shell) -> None:
    """Of replays and backtests; a name of two people needs the login, another account is refused."""
    shop, other = engine.account(documents=HOURS), engine.account(documents=HOURS)
    chat = engine.decide(shop, QUESTION, conversation_id="talk")
    engine.decide(shop, QUESTION, conversation_id="more")
    engine.decide(other, QUESTION, conversation_id="talk")
    view = f"the talk {uuid4()}"
    login = save_view(engine, view, f"account={shop}&conversation=talk")
    made = shell.run("trials", "replay", "--view", view)
    tried = shell.run("trials", "backtest", "--account", shop, "--view", view, "--processes", "1", *STOPS)
    save_view(engine, view, "conversation=talk")
    several = shell.run("trials", "replay", "--view", view)
    chosen = shell.run("trials", "replay", "--view", f"{login}/{view}", *STOPS)

    assert [UUID(each["id"]) for each in made.rows] == [chat["id"]], made.err
    assert tried.rows[0]["decisions"] == 1, tried.err
    assert not {"backtest_id", "since", "until"} & set(tried.rows[0]), "it is not stored and has no range"
    assert [each["group"] for each in tried.rows[0]["groups"]] == ["newly_stopped"]
    assert engine.rows("SELECT id FROM trials WHERE user_id = %s", shop) == []
    assert (several.code, "got 2" in several.err) == (2, True)
    assert [each["result"] for each in chosen.rows] == ["newly_stopped"]
    wrong = shell.run("trials", "backtest", "--account", other, "--view", f"{login}/{view}", *STOPS)
    assert (wrong.code, f"got one of {shop}" in " ".join(wrong.err.split())) == (2, True)


def test_examples_of_a_backtest_are_shown_side_by_side(engine: Running, shell: Shell) -> None:
    """Message, reply then and now, and why; without ``--texts`` nothing that an author wrote."""
    shop = engine.account(documents=HOURS, flagged_keywords=["parrot"])
    engine.decide(shop, QUESTION)
    engine.decide(shop, "hello parrot")
    asked = ("trials", "backtest", "--account", shop, "--days", "1", "--processes", "1", *STOPS)
    plain = shell.run(*asked)
    shown = shell.run(*asked, "--texts")

    assert "on weekdays" not in plain.out, plain.err
    found = {each["message"]: each for each in shown.rows[0]["examples"]}
    stopped, released = found[QUESTION], found["hello parrot"]
    assert (stopped["group"], stopped["before"], stopped["after"]) == (
        "newly_stopped",
        "REPLIED",
        "FLAGGED_RULE",
    )
    assert "nine to six" in stopped["reply"]
    assert stopped["reply_now"] is None
    assert "weekdays" in stopped["why"]
    assert (released["reply"], released["before"]) == (None, "FLAGGED_RULE")
    assert released["why"]


def left_unfinished(engine: Running, shop: str, position: UUID) -> None:
    """Make the backtest of this account look killed after its first decision."""
    engine.database.execute(
        "UPDATE trials t SET state = 'running', done = 1, reached_id = d.id, reached_at = d.created_at,"
        " counts = '{\"unchanged\": 1}' FROM ai_decisions d WHERE t.user_id = %s AND d.id = %s",
        (shop, position),
    )


def test_a_backtest_continues_after_a_decision_that_retention_deleted(engine: Running, shell: Shell) -> None:
    """The decision at which a killed run stopped is gone; those after it are counted."""
    shop = engine.account(documents=HOURS)
    ids = [engine.decide(shop, f"{QUESTION} {each}")["id"] for each in ("Please.", "Thanks.", "Now.")]
    asked = ("trials", "backtest", "--account", shop, "--days", "1", "--processes", "1", *STOPS)
    first = shell.run(*asked).rows[0]
    left_unfinished(engine, shop, ids[0])
    with engine.database.transaction():
        engine.database.execute("SET LOCAL hushgate.erasing = on")
        engine.database.execute("DELETE FROM ai_decisions WHERE id = %s", (ids[0],))
    second = shell.run(*asked).rows[0]

    assert first["decisions"] == 3
    assert second["backtest_id"] == first["backtest_id"]
    assert second["decisions"] == 3
    assert {each["group"]: each["decisions"] for each in second["groups"]} == {
        "newly_stopped": 2,
        "unchanged": 1,
    }


def test_a_backtest_that_was_left_days_ago_is_not_continued(engine: Running, shell: Shell) -> None:
    """The last day is not the day of an old run; the output names the range."""
    shop = engine.account(documents=HOURS)
    decided = engine.decide(shop, QUESTION)["id"]
    asked = ("trials", "backtest", "--account", shop, "--days", "1", "--processes", "1", *STOPS)
    first = shell.run(*asked).rows[0]
    left_unfinished(engine, shop, decided)
    moved = "since = since - interval '2 days', until = until - interval '2 days'"
    engine.database.execute(f"UPDATE trials SET {moved} WHERE user_id = %s", (shop,))
    second = shell.run(*asked).rows[0]

    assert second["backtest_id"] != first["backtest_id"]
    assert second["since"] > first["since"]
    assert second["decisions"] == 1


def _children(process: int) -> list[Path]:
    found = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [Path(f"/proc/{each}") for each in found]


def _ends_at_once(child: Path) -> bool:
    """Whether a child of multiprocessing that has begun leaves SIGINT to the kernel."""
    status = (child / "status").read_text()
    caught = int(re.search(r"SigCgt:\s*(\w+)", status)[1], 16)  # type: ignore[index]  # every status has it
    return "_multiprocessing" in (child / "maps").read_text() and not caught >> (signal.SIGINT - 1) & 1


def test_ctrl_c_while_a_backtest_starts_prints_no_traceback(engine: Running, shell: Shell) -> None:
    """Its processes take longer to import than the command; what is left is what the command says."""
    shop = engine.account(documents=HOURS)
    engine.decide(shop, QUESTION)
    command = [sys.executable, "-m", "cli", "trials", "backtest", "--account", shop, "--full", *STOPS]
    with subprocess.Popen(
        command, env=shell.environment, cwd=ROOT, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        eventually(lambda: any(map(_ends_at_once, _children(process.pid))), "a process of the backtest")
        os.killpg(process.pid, signal.SIGINT)
        said = process.communicate(timeout=PATIENCE_S)[1].decode()

    assert (process.returncode, said) == (ExitCode.INTERRUPTED, "interrupted; the same command continues\n")


def test_what_names_decisions_is_one_thing(engine: Running, shell: Shell) -> None:
    """Ids with filters, an unknown view, and days beside a view."""
    both = shell.run("trials", "replay", str(uuid4()), "--account", "acme")
    unknown = shell.run("trials", "replay", "--view", "none")
    days = shell.run("trials", "backtest", "--account", "a", "--view", "v", "--days", "2", *STOPS)

    assert (both.code, unknown.code, days.code) == (2, 1, 2)
    assert "got ids and filters" in " ".join(both.err.split())
    assert "no saved view 'none'" in unknown.err
    assert "--days: expected none with --view" in days.err


def test_a_live_replay_asks_only_what_the_change_needs(
    engine: Running, shell: Shell, sandbox: SandboxHandle
) -> None:
    """A new prompt asks the model once for each decision and nothing else; the estimate comes first."""
    shop = engine.account(documents=HOURS)
    ids = [str(engine.decide(shop, f"{QUESTION} {uuid4()}")["id"]) for _ in range(2)]
    routes = ("chat", "moderations", "embeddings")
    before = {each: sandbox.calls(each) for each in routes}
    dry = shell.run("trials", "replay", *ids, "--set", "prompt=Be brief.")
    between = {each: sandbox.calls(each) for each in routes}
    live = shell.run("trials", "replay", *ids, "--set", "prompt=Be brief.", "--live")
    after = {each: sandbox.calls(each) for each in routes}

    assert [each["result"] for each in dry.rows] == ["needs_answers", "needs_answers"]
    assert between == before
    assert "2 decisions need new answers: about" in " ".join(live.err.split())
    assert [each["asked"] for each in live.rows] == [["model"], ["model"]], live.err
    assert after["chat"] - before["chat"] == 2
    assert after["embeddings"] == before["embeddings"]


def test_the_budget_ends_a_live_replay(engine: Running, shell: Shell) -> None:
    """What was spent is said; the other decisions are not asked and not counted as missing."""
    shop = engine.account(documents=HOURS)
    ids = [str(engine.decide(shop, f"{QUESTION} {uuid4()}")["id"]) for _ in range(3)]
    models = ("openai/gpt-4.1-mini", CHAT_MODEL)
    prices = [{"model": each, "since": "2026-01-01", "prompt": 0.4, "completion": 1.6} for each in models]
    ended = shell.run(
        "trials", "replay", *ids, "--set", "prompt=Be brief.", "--live", "--budget-usd", "0.000001",
        env={"HUSHGATE_PRICES": json.dumps(prices)},
    )  # fmt: skip

    assert len(ended.rows) == 1, ended.err
    assert "are spent; the others were not made again" in " ".join(ended.err.split())
    assert "not_found" not in ended.err
    assert ended.code == 0


def test_a_budget_needs_declared_prices_and_calls(
    engine: Running, shell: Shell, sandbox: SandboxHandle
) -> None:
    """Calls without a price would never reach the budget: nothing is asked; 0 and dry replays are refused."""
    shop = engine.account(documents=HOURS)
    asked = ("trials", "replay", str(engine.decide(shop, QUESTION)["id"]), "--set", "prompt=Be brief.")
    before = sandbox.calls("chat")
    unlisted = {"HUSHGATE_PRICES": "[]", "HUSHGATE_MODEL": "our-own"}
    free = shell.run(*asked, "--live", "--budget-usd", "1", env=unlisted)
    nothing = shell.run(*asked, "--live", "--budget-usd", "0")
    dry = shell.run(*asked, "--budget-usd", "1")

    assert (free.code, nothing.code, dry.code) == (2, 2, 2)
    assert "--budget-usd: expected declared prices in HUSHGATE_PRICES, got none of" in " ".join(
        free.err.split()
    )
    assert "greater than or equal to 0.000001" in " ".join(nothing.err.replace("│", " ").split())
    assert "--budget-usd: expected it with --live only" in " ".join(dry.err.split())
    assert sandbox.calls("chat") == before


def test_a_cancelled_replay_shows_what_was_made(
    engine: Running, shell: Shell, sandbox: SandboxHandle
) -> None:
    """Ctrl-C while a model is asked: the decisions before it are shown and counted."""
    shop = engine.account(documents=HOURS)
    ids = [str(engine.decide(shop, f"{QUESTION} {uuid4()}")["id"]) for _ in range(2)]
    sandbox.set_latency(chat=6.0)
    words = [HUSHGATE, "trials", "replay", *ids, "--set", "prompt=Be brief.", "--live"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, env=shell.env({}), cwd=shell.folder, **pipes) as process:  # type: ignore[call-overload]
        first = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        rest, said = process.communicate(timeout=PATIENCE_S)
    sandbox.reset()

    assert (first["id"], rest) == (ids[0], "")
    assert "cancelled after 1 of 2" in " ".join(said.split())
    assert process.returncode == 130


FREED = ("--live", "--set", "flagged_keywords=[]", "--deliver")


def test_a_released_reply_is_sent_once_and_only_with_yes(engine: Running, shell: Shell) -> None:
    """Without --yes the number is said; two runs at once and a third one send one reply."""
    shop = engine.account(documents=HOURS, flagged_keywords=["weekdays"])
    decided = engine.decide(shop, QUESTION)
    asked = ("trials", "replay", str(decided["id"]), *FREED)
    refused = shell.run(*asked)
    before = engine.rows("SELECT id FROM outbox WHERE user_id = %s", shop)
    command = [sys.executable, "-m", "cli", *asked, "--yes"]
    environment = {**os.environ, **shell.env({})}
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) for _ in range(2)]
    made = sorted(json.loads(each.communicate(timeout=PATIENCE_S)[0])["delivery"] for each in both)
    again = shell.run(*asked, "--yes")
    sent = engine.rows("SELECT * FROM outbox WHERE user_id = %s", shop)
    kept = engine.rows("SELECT outcome, text FROM answers WHERE decision_id = %s", decided["id"])

    assert (refused.code, before) == (2, [])
    assert "expected --yes too, to send 1 replies; nothing was sent" in " ".join(refused.err.split())
    assert made == ["sent", "sent_before"]
    assert (again.code, again.rows[0]["delivery"]) == (0, "sent_before")
    assert [(each["origin"], each["message_id"]) for each in sent] == [("person", decided["message_id"])]
    assert "weekdays" in sent[0]["text"]
    assert sent[0]["metadata"]["model"]
    assert [(each["outcome"], each["text"]) for each in kept] == [("unchanged", sent[0]["text"])]
    assert eventually(lambda: engine.reply(shop, sent[0]["event_id"]), "the reply on the stream")


def test_nothing_is_sent_where_the_conversation_moved_on_or_the_message_is_old(
    engine: Running, shell: Shell
) -> None:
    """A newer message, a person who took over, a message older than the account answers, a reply before."""
    shop = engine.account(documents=HOURS, flagged_keywords=["weekdays"])
    hasty = engine.account(documents=HOURS, flagged_keywords=["weekdays"], reply_max_age_s=1.0)
    newer, owned, old = (
        engine.decide(account, QUESTION, conversation_id=name)
        for account, name in ((shop, "newer"), (shop, "owned"), (hasty, "old"))
    )
    replied = engine.decide(shop, "Are you open on Sunday?")
    engine.decide(shop, "Thanks", conversation_id="newer")
    with psycopg.connect(engine.url) as connection:
        connection.execute(
            "INSERT INTO conversations"
            " VALUES (%s, 'owned', now() + interval '1 hour', now(), 'kim', 'command', 1)",
            (shop,),
        )
    time.sleep(1.1)
    ids = [str(each["id"]) for each in (newer, owned, old, replied)]
    made = shell.run("trials", "replay", *ids, *FREED, "--yes")

    assert {row["id"]: row["delivery"] for row in made.rows} == dict(
        zip(ids, ["moved_on", "moved_on", "too_late", "not_released"], strict=True)
    ), made.err
    sent = "SELECT id FROM outbox WHERE origin = 'person' AND user_id = ANY(%s)"
    assert engine.rows(sent, [shop, hasty]) == []


def test_settings_that_are_newer_than_a_candidate_stop_its_reply(engine: Running, shell: Shell) -> None:
    """A rule that was added since, or the AI switched off, is obeyed; what the candidate removes is not."""
    ruled, off, freed = (engine.account(documents=HOURS, flagged_keywords=["weekdays"]) for _ in range(3))
    ids, made = [], []
    for shop, change in (
        (ruled, {"flagged_phrases": ["nine to five", "opening", "open", "weekday"]}),
        (off, {"ai_control_enabled": False}),
        (freed, {"reply_max_age_s": 90_000.0}),
    ):
        ids.append(str(engine.decide(shop, QUESTION)["id"]))
        candidate = shell.run("trials", "candidates", "add", shop, "--set", "flagged_keywords=[]").rows[0]
        engine.change(shop, **change)
        made.append(
            shell.run(
                "trials",
                "replay",
                ids[-1],
                "--live",
                "--candidate",
                candidate["candidate_id"],
                "--deliver",
                "--yes",
            )
        )

    assert [each.rows[0]["delivery"] for each in made] == ["stopped", "stopped", "sent"], [
        each.err for each in made
    ]
