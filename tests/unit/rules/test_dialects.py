"""A file of another dialect is recognised or refused, and odd rules are asked about."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.accounts.rules import app as rules_app
from worker.errors import RuleRejected
from worker.rules.dialects import decoded_rules
from worker.rules.formats import RuleList, RuleListFormat, read_rules
from worker.rules.oddities import oddities, summary

TABLE = RuleList(keywords=("viagra",), phrases=("free money",), allow=("spam filter",))
TABLES = (
    "kind,rule\nkeyword,viagra\nphrase,free money\nallow,spam filter\n",
    "kind;rule\nkeyword;viagra\nphrase;free money\nallow;spam filter\n",
    "kind;rule\r\nkeyword;viagra\r\nphrase;free money\r\nallow;spam filter\r\n",
    "kind\trule\nkeyword\tviagra\nphrase\tfree money\nallow\tspam filter\n",
    "kind|rule\nkeyword|viagra\nphrase|free money\nallow|spam filter\n",
    "sep=;\nkind;rule\nkeyword;viagra\nphrase;free money\nallow;spam filter\n",
    "sep=,\r\nkeyword,viagra\r\nphrase,free money\r\nallow,spam filter\r\n",
    '"kind";"rule"\n"keyword";"viagra"\n"phrase";"free money"\n"allow";"spam filter"\n',
    "\ufeffkind;rule\nkeyword;viagra\nphrase;free money\nallow;spam filter\n",
    "Type;Word\nKeyword;viagra\nPhrase;free money\nAllow;spam filter\n",
    "keyword;viagra\nphrase;free money\n\nallow;spam filter\n",
    "kind;rule;\nkeyword;viagra;\nphrase;free money;\nallow;spam filter;\n",
)


@pytest.mark.parametrize("text", TABLES)
def test_a_table_is_read_in_every_dialect_of_spreadsheets(text: str) -> None:
    """Most of Europe has semicolons; Excel writes its separator first, quotes, tabs and a byte order mark."""
    assert read_rules(text, RuleListFormat.CSV) == TABLE


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_file_is_read_in_the_encodings_with_a_mark(encoding: str) -> None:
    """Excel's "Unicode text" is UTF-16."""
    text = "kind\trule\nkeyword\tbetrügen\n"

    assert read_rules(decoded_rules(text.encode(encoding)), RuleListFormat.CSV).keywords == ("betrügen",)


REFUSED = (
    (RuleListFormat.CSV, "word;severity\nviagra;block\n"),
    (RuleListFormat.CSV, "viagra;casino\npoker;slots\n"),
    (RuleListFormat.CSV, "viagra,1\ncasino,2\n"),
    (RuleListFormat.CSV, "id,kind,rule\n1,keyword,viagra\n"),
    (RuleListFormat.CSV, "sep=;\nkind,rule\nkeyword,viagra\n"),
    (RuleListFormat.CSV, "kind,rule\nblock,viagra\n"),
    (RuleListFormat.CSV, "PK\x03\x04 sheet"),
    (RuleListFormat.LIST, "kind;rule\nkeyword;viagra\n"),
    (RuleListFormat.LIST, "sep=;\nviagra;casino\n"),
    (RuleListFormat.LIST, '["viagra", "casino"]'),
    (RuleListFormat.LIST, '{"keywords": ["viagra"]}'),
    (RuleListFormat.LIST, "---\ntitle+body (includes): [spam]\n"),
    (RuleListFormat.LIST, "- viagra\n- casino\n"),
    (RuleListFormat.LIST, "1. viagra\n2. casino\n"),
    (RuleListFormat.LIST, "<html><body>viagra</body></html>"),
    (RuleListFormat.LIST, "{\\rtf1 viagra}"),
    (RuleListFormat.LIST, "%PDF-1.7 viagra"),
    (RuleListFormat.JSON, '{"rules": ["viagra"]}'),
    (RuleListFormat.JSON, '{"keywords": ["viagra"], "version": 2}'),
    (RuleListFormat.JSON, '[{"word": "viagra", "action": "block"}]'),
    (RuleListFormat.JSON, '[["viagra"]]'),
    (RuleListFormat.JSON, "viagra\ncasino\n"),
    (RuleListFormat.AUTOMODERATOR, "- viagra\n- casino\n"),
    (RuleListFormat.AUTOMODERATOR, "viagra\n"),
    (RuleListFormat.AUTOMODERATOR, "words: [viagra]\naction: remove\n"),
    (RuleListFormat.DISCORD, "<ul><li>viagra</li></ul>"),
)


@pytest.mark.parametrize(("fmt", "text"), REFUSED)
def test_a_file_of_another_form_is_refused(fmt: RuleListFormat, text: str) -> None:
    """Its lines would become rules that match nothing, in place of those that do."""
    with pytest.raises(RuleRejected):
        read_rules(text, fmt)


def test_a_file_in_a_code_page_is_refused() -> None:
    """Which one cannot be known."""
    with pytest.raises(RuleRejected, match="UTF-8"):
        decoded_rules("betrügen".encode("cp1252"))


def test_a_column_of_rules_is_still_a_list() -> None:
    """Also of quoted rules with the separators inside."""
    text = 'viagra\n"free, money"\n"a;b"\n'

    assert read_rules(text, RuleListFormat.CSV) == RuleList(
        keywords=("viagra", "a;b"), phrases=("free, money",)
    )


ODD = (
    (RuleList(keywords=("a1",)), 12),
    (RuleList(), 1),
    (RuleList(keywords=("keyword", "viagra")), 0),
    (RuleList(keywords=("viagra,casino", "poker,slots")), 0),
    (RuleList(keywords=("viagra;block", "casino;block")), 0),
    (RuleList(keywords=('"viagra"', '"casino"')), 0),
    (RuleList(phrases=("x " * 60, "y " * 60)), 0),
    (RuleList(keywords=("viagra",), skipped=("row 2: x",)), 0),
)


@pytest.mark.parametrize(("rules", "in_force"), ODD)
def test_an_odd_number_or_look_is_named(rules: RuleList, in_force: int) -> None:
    """A person is asked before they replace those in force."""
    assert oddities(rules, in_force)


@pytest.mark.parametrize("rules", [TABLE, RuleList(keywords=("/a,b;c/", "a;b", *map(str, range(20))))])
def test_ordinary_rules_are_not_odd(rules: RuleList) -> None:
    """Nothing is asked."""
    assert oddities(rules, 3) == ()


def test_the_preview_counts_the_rules() -> None:
    """With the first ones of them."""
    rules = RuleList(keywords=("viagra", "casino"), phrases=("free money", "act now"))

    assert summary(rules) == "4 rules: 2 keywords, 2 phrases: viagra, casino, free money, ..."


def test_the_command_refuses_a_list_with_headings(tmp_path: Path) -> None:
    """``rules validate`` says so as well."""
    file = tmp_path / "words.txt"
    file.write_text("kind;rule\nkeyword;viagra\n")

    assert CliRunner().invoke(rules_app, ["validate", str(file)]).exit_code != 0
