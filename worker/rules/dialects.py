"""The dialect of a file of rules: recognised, or refused with what to do. Nothing is guessed."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from worker.errors import RuleRejected

DELIMITERS: Final[Mapping[str, str]] = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar"}
KINDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("keyword", "keywords", "word", "words"), "keyword"),
    **dict.fromkeys(("phrase", "phrases"), "phrase"),
    **dict.fromkeys(("allow", "allowed", "allow_list"), "allow"),
}
"""What the first cell of a row says -> the kind of its rule."""
KIND_HEADINGS: Final = frozenset({"kind", "type"})
RULE_HEADINGS: Final = frozenset({"rule", "word", "term", "pattern", "text", "keyword", "phrase"})
HEADINGS: Final = (
    RULE_HEADINGS
    | KIND_HEADINGS
    | {"rules", "words", "terms", "keywords", "phrases", "blacklist", "blocklist"}
)
SEPARATOR_LINE: Final = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)
"""What Excel reads and writes before a table."""
SIGNATURES: Final[tuple[tuple[str, str], ...]] = (
    ("PK\x03\x04", "a workbook (XLSX, ODS): save the sheet as CSV UTF-8"),
    ("{\\rtf", "an RTF document: save it as plain text"),
    ("%PDF-", "a PDF: save its text as plain text"),
    ("<", "HTML or XML: save the rules as plain text, one a line"),
)
BULLET: Final = re.compile(r"\s*(?:[-*•+]|\d+[.)])\s+\S")
MARKS: Final = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))
"""Byte order marks, which Excel and Notepad write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleTable:
    """The rows of a CSV file.

    Attributes:
        has_kinds: whether the first cell of each row is a kind; otherwise each row is one rule.
        is_ours: whether the heading is that of an export.
    """

    rows: Sequence[Sequence[str]]
    has_kinds: bool
    is_ours: bool = False


def decoded_rules(data: bytes) -> str:
    """The text of a file.

    Raises:
        RuleRejected: it is not UTF-8, or UTF-16 with its mark.
    """
    encoding = next((name for mark, name in MARKS if data.startswith(mark)), "utf-8")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise _refused(
            f"expected UTF-8, got byte {data[error.start]:#x} at {error.start}; save it as UTF-8"
        ) from error


def require_text(text: str) -> str:
    """The text without a byte order mark; RuleRejected for what is no list of rules."""
    text = text.removeprefix("\ufeff")
    start = text.lstrip()[:16]
    for signature, what in SIGNATURES:
        if start.startswith(signature) and (signature != "<" or text.rstrip().endswith(">")):
            raise _refused(f"expected a list of rules, got {what}")
    return text


def rule_table(text: str) -> RuleTable:
    """The rows of a CSV file, whichever delimiter it has.

    Raises:
        RuleRejected: its rows are neither a kind and a rule nor one rule each.
    """
    text = require_text(text)
    if named := SEPARATOR_LINE.match(text):
        if (found := _known_table(_rows(text[named.end() :], named[1]))) is not None:
            return found
        raise _refused(
            f"CSV: expected the columns kind and rule separated by {named[1]!r}, as its first line says"
        )
    tables = {sign: _rows(text, sign) for sign in DELIMITERS}
    for rows in tables.values():
        if (found := _known_table(rows)) is not None:
            return found
    for sign, rows in tables.items():
        number = next((number for number, row in enumerate(rows, 1) if len(row) > 1), None)
        if number is not None:
            raise _refused(
                "CSV: expected the columns kind (keyword, phrase or allow) and rule, or one rule a line;"
                f" line {number} has {len(rows[number - 1])} columns separated by {DELIMITERS[sign]}"
            )
    return RuleTable(rows=tables[","], has_kinds=False)


def _rows(text: str, delimiter: str) -> list[list[str]]:
    try:
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error as error:
        raise _refused(f"CSV: {error}") from error


def _known_table(rows: list[list[str]]) -> RuleTable | None:
    """The table when its first row names the columns, or each row begins with a kind."""
    cells = [[cell for cell in row if cell.strip()] for row in rows]
    first = next((row for row in cells if row), [])
    heading = [cell.strip().lower() for cell in first]
    if len(heading) == 2 and heading[0] in KIND_HEADINGS and heading[1] in RULE_HEADINGS:
        rest = rows[cells.index(first) + 1 :]
        return RuleTable(rows=rest, has_kinds=True, is_ours=heading == ["kind", "rule"])
    full = [row for row in cells if row]
    if full and all(len(row) == 2 and row[0].strip().lower() in KINDS for row in full):
        return RuleTable(rows=rows, has_kinds=True)
    return None


def require_list(text: str) -> str:
    """The text of a plain list; RuleRejected for a file of another format."""
    text = require_text(text)
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if len(lines) > 1 and all(map(BULLET.match, lines)):
        raise _refused("list: expected one rule a line, got a list with bullets or numbers; remove them")
    if _is_json(text):
        raise _refused("list: expected one rule a line, got JSON; use the format json")
    if lines and (lines[0] == "---" or re.match(r"[a-z~+]+ \([\w, -]+\):", lines[0])):
        raise _refused("list: expected one rule a line, got YAML; use the format automoderator")
    separated = SEPARATOR_LINE.match(text) is not None or any(
        _known_table(_rows("\n".join(lines), sign)) is not None
        for sign in DELIMITERS
        if any(sign in each for each in lines)
    )
    if separated:
        raise _refused("list: expected one rule a line, got a table of kinds and rules; use the format csv")
    return text


def _is_json(text: str) -> bool:
    if text.lstrip()[:1] not in {"[", "{"}:
        return False
    try:
        return isinstance(json.loads(text), list | dict)
    except (ValueError, RecursionError):
        return False


def _refused(what: str) -> RuleRejected:
    return RuleRejected("*", what)
