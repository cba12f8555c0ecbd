"""The table of filters covers the search, and every filter changes the query."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy.dialects import postgresql
from typer.main import get_command

from cli.decisions import commands as decisions
from db.audit.filters import Filters
from db.audit.search import matching_query
from review.lists.filter_fields import FIELDS
from review.lists.filter_parsers import FilterField
from review.lists.filters import ParseContext, parse_query

NOW = datetime(2026, 11, 21, 10, tzinfo=UTC)
SET_BY_THE_SITE = {"accounts", "chosen", "hidden", "walk"}
VALUES = {"since": "7d", "until": "1h", "confidence_from": "0.5", "confidence_to": "0.5"} | {
    "shadow": "newly_stopped:01a20047-0dfa-71d7-8e88-c1d4329d1fb5",
    "reason": "blocked", "version": "3", "stage": "moderation:failed", "candidate": str(UUID(int=7)),
}  # fmt: skip


def test_every_field_of_a_search_is_a_filter() -> None:
    """A field of `Filters` is the target of one filter, or set by the site."""
    targets = [each.target for each in FIELDS]

    assert len(targets) == len(set(targets))
    assert set(targets) | SET_BY_THE_SITE == {each.name for each in fields(Filters)}


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
def test_every_filter_changes_the_query(field: FilterField) -> None:
    """A filter without a condition would show every decision."""
    value = VALUES.get(field.name) or next(iter(field.choices), "x")
    pairs = [(field.name, value)] + ([("account", "a")] if field.name in ("version", "event") else [])
    asked = parse_query(pairs, ParseContext(now=NOW), accounts=None)
    without = parse_query(pairs[1:], ParseContext(now=NOW), accounts=None)

    assert asked.problems == ()
    assert _sql(asked.filters) != _sql(without.filters)


@pytest.mark.parametrize("name", ["list", "tail", "export"])
def test_every_filter_is_an_option_with_a_help_text(name: str) -> None:
    """In the order of the table, for each command that shows decisions."""
    group: Any = get_command(decisions.app)
    options = {each.name: each for each in group.commands[name].params}

    assert [each for each in options if each in {field.name for field in FIELDS}] == [
        field.name for field in FIELDS
    ]
    assert [options[field.name].help for field in FIELDS] == [field.about for field in FIELDS]


def _sql(filters: Filters) -> tuple[str, str]:
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    compiled = matching_query(filters).compile(dialect=dialect)
    return str(compiled), str(compiled.params)
