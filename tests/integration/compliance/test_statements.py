"""The export of statements of reasons: page, files and command; off by default, nothing guessed."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest
from psycopg.types.json import Jsonb
from typer.testing import CliRunner

from cli.main import command_line
from compliance.statements.statement import CAUTION, FIELDS
from review.http.visit import SESSION_COOKIE
from tests.support.review_world import World
from tests.support.reviewing import Visitor, site
from worker.statement_grounds import EXAMPLE

NUMBERS = count(1)
ON = {
    "statements_enabled": True,
    "statement_grounds": Jsonb({"FLAGGED_RULE": EXAMPLE}),
    "statement_countries": ["de"],
}
TODAY = datetime.now(UTC)
DAYS = {"since": f"{TODAY - timedelta(days=1):%Y-%m-%d}", "until": f"{TODAY:%Y-%m-%d}"}


@pytest.fixture
def world(database_url: str) -> Iterator[World]:
    """An account with one mapped decision, and one whose reason has no ground."""
    with World(database_url, f"shop-{next(NUMBERS)}") as made:
        made.suggested()
        yield made


@pytest.fixture
def person(database_url: str, world: World) -> Iterator[Visitor]:
    """A person who may export."""
    token = world.session(world.person((world.account, "auditor")))
    with site(database_url) as visitor:
        made = visitor()
        made.client.cookies.set(SESSION_COOKIE, token, domain="127.0.0.1")
        yield made


def test_the_tab_needs_the_right_to_export_alone(world: World, person: Visitor) -> None:
    """A person who may not see the webhooks of the account finds the page all the same."""
    page = person.get(f"/accounts/{world.account}/limits").text

    assert f"/accounts/{world.account}/statements" in page
    assert f"/accounts/{world.account}/webhooks" not in page
    assert f"/accounts/{world.account}/holds" not in page


def test_page_and_files_have_the_mapped_decisions_only(world: World, person: Visitor) -> None:
    """Off, the page says so and gives no file; on, the others are counted and left out."""
    world.add("ai_rules", user_id=world.account, version=1)
    off = person.get(f"/accounts/{world.account}/statements").text
    no_file = person.client.get(
        f"/accounts/{world.account}/statements/file", params=DAYS, follow_redirects=False
    )
    world.add("ai_rules", user_id=world.account, version=2, **ON)
    page = person.client.get(f"/accounts/{world.account}/statements", params=DAYS).text
    as_csv = person.client.get(f"/accounts/{world.account}/statements/file", params=DAYS | {"format": "csv"})
    as_json = person.client.get(
        f"/accounts/{world.account}/statements/file", params=DAYS | {"format": "ndjson"}
    )
    head, row = csv.reader(io.StringIO(as_csv.text))
    logged = "SELECT array_agg(detail ->> 'statements' ORDER BY id) FROM access_log WHERE user_id = %s"

    assert CAUTION in off
    assert "Statements of reasons are off" in off
    assert (no_file.status_code, "statements?" in no_file.headers["location"]) == (303, True)
    assert "1 statement<" in page
    assert "Left out" in page
    assert tuple(head) == FIELDS
    assert dict(zip(head, row, strict=True))["territorial_scope"] == '["DE"]'
    (line,) = as_json.text.splitlines()
    assert json.loads(line)["puid"] == str(world.decision.decision_id)
    assert world.decision.event.text not in as_json.text + as_csv.text
    assert world.one(logged, world.account) == ["counted", "csv", "ndjson"]


def test_the_command_writes_the_same_and_counts_what_it_leaves_out(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the caution on standard error; an account with statements off gets no file."""
    monkeypatch.setenv("DATABASE_URL", world.url)
    target = tmp_path / "november.ndjson"
    call = ["statements", world.account, "--since", "1d", "--output", str(target)]
    runner, line = CliRunner(), command_line(["statements", "config"])
    world.add("ai_rules", user_id=world.account, version=1)
    off = runner.invoke(line, call)
    world.add("ai_rules", user_id=world.account, version=2, **ON)
    on = runner.invoke(line, call)

    assert off.exit_code != 0
    assert "statements_enabled" in off.output
    assert on.exit_code == 0, on.output
    assert "does not restrict anything" in on.output
    assert "1 decisions left out: no ground for NO_EVIDENCE" in " ".join(on.output.split())
    assert [json.loads(each)["category"] for each in target.read_text().splitlines()] == [
        "STATEMENT_CATEGORY_CYBER_VIOLENCE"
    ]
