"""List formats in and out, and the command line on files."""

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from cli.accounts.rules import app as rules_app
from worker.rules.formats import (
    RuleList,
    RuleListFormat,
    read_rules,
    write_rules,
)
from worker.spreadsheet import harmless, original

RULES = RuleList(keywords=("spam", "cat*"), phrases=("free money",), allow=("spam filter",))


@pytest.mark.parametrize("fmt", [RuleListFormat.LIST, RuleListFormat.CSV, RuleListFormat.JSON])
def test_rules_survive_export_and_import(fmt: RuleListFormat) -> None:
    """What a format can say comes back unchanged."""
    again = read_rules(write_rules(RULES, fmt), fmt)

    assert again == RULES


FORMULAS = ("=1+1", "+49", "-sale", "@all", "|x", "%0a", "\uff1dx", "'=1", "''=1", "'quoted", "cat")


def test_a_csv_of_rules_holds_no_formula_and_gives_the_same_rules_back() -> None:
    """A rule that begins like a formula is text in a spreadsheet; apostrophes of its own stay."""
    rules = RuleList(keywords=FORMULAS, phrases=("=cmd |' /C calc'!A0", "two words"), allow=("-x y", "'-x"))
    text = write_rules(rules, RuleListFormat.CSV)
    cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]

    assert not [cell for cell in cells if cell[:1] in "=+-@|%\uff1d\uff0b\uff0d\uff20"]
    assert read_rules(text, RuleListFormat.CSV) == rules


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1).filter(lambda text: text == text.strip())))
def test_any_text_comes_back_from_a_spreadsheet_cell(texts: list[str]) -> None:
    """The text that was made harmless is the text that is read."""
    assert [original(harmless(text)) for text in texts] == texts


def test_a_list_of_another_tool_keeps_its_apostrophes() -> None:
    """Only a file with the header of an export is read as one."""
    assert read_rules("'=x\n", RuleListFormat.CSV).keywords == ("'=x",)


def test_automoderator_lists_become_rules_of_the_same_meaning() -> None:
    """Reddit's modifiers become switches; checks without a counterpart are reported."""
    documents = [
        "title+body (includes): [spam]",
        "body (regex): ['sp.m']",
        "~body: [x]",
        "title: [buy now, cat]",
    ]
    text = "\n---\n".join(documents)
    rules = read_rules(text, RuleListFormat.AUTOMODERATOR)

    assert rules.keywords == ("spam {substring}", "/sp.m/", "cat")
    assert rules.phrases == ("buy now",)
    assert len(rules.skipped) == 1


def test_discord_list_keeps_its_wildcards() -> None:
    """Discord writes rules between commas, wildcards at the ends."""
    rules = read_rules("cat*, *dog*, the mat", RuleListFormat.DISCORD)

    assert (rules.keywords, rules.phrases) == (("cat*", "*dog*"), ("the mat",))


def test_an_export_to_discord_names_what_it_leaves_out(tmp_path: Path) -> None:
    """On standard error, so that the list itself can be pasted."""
    rules = tmp_path / "rules.txt"
    rules.write_text("viagra\n~casino\n/ab+c/\nfine {allow}\n")
    result = CliRunner().invoke(rules_app, ["export", "--rules", str(rules), "--format", "discord"])

    assert result.stdout == "viagra\n"
    assert result.stderr.strip().endswith("left out, as Discord cannot express them: /ab+c/, fine, ~casino")


def test_cases_give_one_line_each_and_bad_lines_do_not_stop_the_rest(tmp_path: Path) -> None:
    """A bad line becomes an error line that names line, field, expected and got; the exit code is 1."""
    cases = tmp_path / "cases.jsonl"
    rows = [
        '{"id": 1, "keywords": ["spam"], "text": "sp@m"}',
        '{"id": 2, "keywords": "spam", "text": "x"}',
        "not json",
        '{"id": 4, "rule": "cat*", "syntax": "wildcard", "text": "Catapult"}',
        '{"id": 5, "rule": "cat", "syntax": "glob", "text": "cat"}',
    ]
    cases.write_text("\n".join(rows))
    result = CliRunner().invoke(rules_app, ["match", "--cases", str(cases)])
    lines = [json.loads(line) for line in result.stdout.splitlines()]

    assert result.exit_code == 1
    shown = [line.get("matched", line.get("field")) for line in lines]
    assert shown == [True, "keywords", "line", True, "syntax"]
    assert lines[4]["error"].startswith("line 5: syntax: expected one of plain, wildcard, ")
    assert lines[4]["error"].endswith(", got glob")
    assert lines[0]["hits"] == [{"rule": "spam", "start": 0, "end": 4, "text": "sp@m", "how": "leet"}]


def test_test_command_shows_where_and_how() -> None:
    """``rules test`` prints one line a hit when it is piped."""
    result = CliRunner().invoke(rules_app, ["test", "--keyword", "spam", "--text", "some SPAM"])

    assert json.loads(result.stdout)["how"] == "case"


def test_test_command_names_the_everyday_words_of_a_fuzzy_rule() -> None:
    """On standard error, beside the hits."""
    result = CliRunner().invoke(rules_app, ["test", "--keyword", "~losers", "--text", "two losrs"])

    assert json.loads(result.stdout)["label"] == "flagged_keyword:~losers"
    assert "4 everyday words (loses, lasers, lovers, lowers)" in " ".join(result.stderr.split())


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
