"""Runs the queries of the documents, and compares the table of log events with the code."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psycopg
import pytest

from tests.unit.test_documentation import PRODUCT

ROOT: Final = Path(__file__).resolve().parents[2]
RUNBOOK: Final = ROOT / "deploy" / "runbook.md"
EVENTS: Final = ROOT / "docs" / "log-events.md"
LEVELS: Final = ("debug", "info", "warning", "error", "critical", "exception")
OF_LIBRARIES: Final = {"Exception in ASGI application"}
"""Events that the table explains and libraries log."""

QUERIES: Final = [
    query
    for folder in ("docs", "deploy")
    for path in sorted((ROOT / folder).rglob("*.md"))
    for query in re.findall(r"^ *```sql\n(.*?)^ *```$", path.read_text(), flags=re.MULTILINE | re.DOTALL)
]


@pytest.mark.parametrize("query", QUERIES)
def test_query_of_a_document_runs(database_url: str, query: str) -> None:
    """Every SQL block is valid on the newest migration."""
    with psycopg.connect(database_url) as connection:
        status = connection.execute(query.encode()).statusmessage
        connection.rollback()

    assert status is not None


def test_documents_have_queries() -> None:
    """The pattern above finds the SQL blocks."""
    assert len(QUERIES) >= 4


def test_messages_that_the_runbook_quotes_are_shown() -> None:
    """What people see when they cannot sign in stands in the pages in the same words."""
    section = RUNBOOK.read_text().split("## People cannot sign in\n")[1].split("\n## ")[0]
    quoted = re.findall(r'^\| [^|"]*"([^"|]+)" ', section, re.MULTILINE)
    pages = "".join(
        file.read_text() for suffix in ("py", "html") for file in (ROOT / "review").rglob(f"*.{suffix}")
    )

    assert len(quoted) >= 4
    assert [text for text in quoted if text not in pages and text != "Invalid host header"] == []


def logged() -> Iterator[str]:
    """The names of all events that our code logs."""
    for package in PRODUCT:
        for file in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text())):
                match node:
                    case ast.Call(
                        func=ast.Attribute(value=ast.Name(id="log"), attr=level),
                        args=[ast.Constant(value=str(name)), *_],
                    ) if level in LEVELS:
                        yield name


def test_every_log_event_is_explained_once() -> None:
    """Each logged name has one row, and each row a logged name."""
    rows = re.findall(rf"^\| `([^`]+)` \| (?:{'|'.join(LEVELS)}) \|", EVENTS.read_text(), re.MULTILINE)

    assert [name for name, times in Counter(rows).items() if times > 1] == []
    assert set(rows) - OF_LIBRARIES == set(logged())
