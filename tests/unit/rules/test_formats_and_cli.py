"""List formats in and out, and the command line on files."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.rules import rules_app
from worker.rules.formats import Format, RuleList, read_rules, write_rules

RULES = RuleList(keywords=("spam", "cat*"), phrases=("free money",), allow=("spam filter",))


@pytest.mark.parametrize("fmt", [Format.LIST, Format.CSV, Format.JSON])
def test_rules_survive_export_and_import(fmt: Format) -> None:
    """What a format can say comes back unchanged."""
    again = read_rules(write_rules(RULES, fmt), fmt)

    assert again == RULES


def test_automoderator_lists_become_rules_of_the_same_meaning() -> None:
    """Reddit's modifiers become switches; what has no counterpart is told."""
    documents = [
        "title+body (includes): [spam]",
        "body (regex): ['sp.m']",
        "~body: [x]",
        "title: [buy now, cat]",
    ]
    text = "\n---\n".join(documents)
    rules = read_rules(text, Format.AUTOMODERATOR)

    assert rules.keywords == ("spam {substring}", "/sp.m/", "cat")
    assert rules.phrases == ("buy now",)
    assert len(rules.skipped) == 1


def test_discord_list_keeps_its_wildcards() -> None:
    """Discord writes rules between commas, wildcards at the ends."""
    rules = read_rules("cat*, *dog*, the mat", Format.DISCORD)

    assert (rules.keywords, rules.phrases) == (("cat*", "*dog*"), ("the mat",))


def test_cases_give_one_line_each_and_bad_lines_do_not_stop_the_rest(tmp_path: Path) -> None:
    """A bad line becomes an error line that names line, field, expected and got; the exit code is 1."""
    cases = tmp_path / "cases.jsonl"
    rows = [
        '{"id": 1, "keywords": ["spam"], "text": "sp@m"}',
        '{"id": 2, "keywords": "spam", "text": "x"}',
        "not json",
        '{"id": 4, "rule": "cat*", "syntax": "wildcard", "text": "Catapult"}',
    ]
    cases.write_text("\n".join(rows))
    result = CliRunner().invoke(rules_app, ["match", "--cases", str(cases)])
    lines = [json.loads(line) for line in result.stdout.splitlines()]

    assert result.exit_code == 1
    assert [line.get("matched", line.get("field")) for line in lines] == [True, "keywords", "line", True]
    assert lines[0]["hits"] == [{"rule": "spam", "start": 0, "end": 4, "text": "sp@m", "how": "leet"}]


def test_test_command_shows_where_and_how() -> None:
    """``rules test`` prints one line a hit when it is piped."""
    result = CliRunner().invoke(rules_app, ["test", "--keyword", "spam", "--text", "some SPAM"])

    assert json.loads(result.stdout)["how"] == "case"


def test_validate_command_fails_on_errors(tmp_path: Path) -> None:
    """``rules validate`` exits with 1 when a rule cannot be used."""
    rules = tmp_path / "rules.txt"
    rules.write_text("spam\n/(/\n")
    result = CliRunner().invoke(rules_app, ["validate", str(rules)])

    assert result.exit_code == 1
    assert "bad_regex" in result.stdout


def test_import_command_prints_what_would_be_stored(tmp_path: Path) -> None:
    """``rules import`` without an account converts to JSON."""
    rules = tmp_path / "rules.csv"
    rules.write_text("kind,rule\nkeyword,spam\nphrase,free money\n")
    result = CliRunner().invoke(rules_app, ["import", str(rules)])

    assert json.loads(result.stdout) == {"keywords": ["spam"], "phrases": ["free money"], "allow": []}
