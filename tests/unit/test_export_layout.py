"""Files of exports: what a spreadsheet must not run, and what a program must read back."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from review.lists.export_layout import COLUMNS, Form, Layout, safe_cell

ROW: dict[str, Any] = {
    **dict.fromkeys(COLUMNS[:-1], ""),
    "created_at": datetime(2026, 11, 21, 10, tzinfo=UTC),
    "id": UUID(int=7),
    "confidence": 0.5,
    "degraded": False,
    "matched_rule": None,
    "reply_text": None,
}
SITE = "https://review.example"


@pytest.mark.parametrize(
    "begins",
    ["=", "+", "-", "@", "\t", "\r", "\n", "|", "%", "＝", "＋", "－", "＠", " =", "\t=", "\n@", "\u00a0="],
)
def test_a_cell_that_begins_like_a_formula_is_text(begins: str) -> None:
    """The cell gets an apostrophe, also with spaces before the beginning of a formula."""
    assert safe_cell(f"{begins}cmd|' /C calc'!A0") == f"'{begins}cmd|' /C calc'!A0"


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("hello", "hello"),
        ("", ""),
        (" ", " "),
        ("a=b", "a=b"),
        (None, ""),
        (True, "true"),
        (-0.5, "-0.5"),
        (datetime(2026, 11, 21, tzinfo=UTC), "2026-11-21T00:00:00+00:00"),
        ("a\0b", "a\N{REPLACEMENT CHARACTER}b"),
    ],
)
def test_other_cells_are_unchanged(value: object, cell: str) -> None:
    """Numbers may begin with a minus sign."""
    assert safe_cell(value) == cell


@pytest.mark.parametrize("text", ['a "quoted", cell', "two\nlines", "semi;colon", "', =1", "\u2028x", "🙂"])
def test_csv_is_read_back_unchanged(text: str) -> None:
    """Separators, quotes and line ends in a text stay in its cell."""
    layout = Layout(form=Form.CSV, site=SITE)
    written = layout.head() + layout.lines([{**ROW, "message_text": text}])
    (row,) = csv.DictReader(io.StringIO(written, newline=""))

    assert row["message_text"] == text
    assert row["permalink"] == f"{SITE}/decisions/{UUID(int=7)}"
    assert list(row) == list(COLUMNS)


def test_only_csv_begins_with_a_byte_order_mark() -> None:
    """The option adds it to CSV and not to NDJSON."""
    heads = [Layout(form=form, bom=bom).head()[:1] for form in Form for bom in (False, True)]

    assert heads == ['"', "\ufeff", "", ""]


def test_ndjson_keeps_every_value_unchanged() -> None:
    """NDJSON gets no apostrophes."""
    written = Layout(form=Form.NDJSON, site=SITE).lines([{**ROW, "message_text": '=1+1\n"'}] * 2)
    rows = [json.loads(line) for line in written.splitlines()]

    assert [row["message_text"] for row in rows] == ['=1+1\n"'] * 2
    assert rows[0]["confidence"] == 0.5
    assert rows[0]["matched_rule"] is None


def test_without_a_site_there_are_no_permalinks() -> None:
    """Without the address of the pages, lines have no link."""
    assert "permalink" not in Layout(form=Form.CSV).head()
