"""Short forms for the declarations of tables; comments are stored in the database."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import CheckConstraint, Column, DateTime, Index, MetaData, Table, Text, func, text
from sqlalchemy.schema import SchemaItem

NAMES: Final = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}
metadata: Final = MetaData(naming_convention=NAMES)
Timestamp: Final = DateTime(timezone=True)
EMPTY_OBJECT: Final = text("'{}'::jsonb")
EMPTY_LIST: Final = text("'{}'::text[]")
EMPTY_JSON_LIST: Final = text("'[]'::jsonb")
TRUE: Final = text("true")
FALSE: Final = text("false")
ZERO: Final = text("0")
NOW: Final = func.now()
VACUUMED_BY_COUNT: Final = {
    "autovacuum_vacuum_scale_factor": 0,
    "autovacuum_vacuum_threshold": 10_000,
    "autovacuum_analyze_scale_factor": 0,
    "autovacuum_analyze_threshold": 10_000,
}
"""Storage parameters of a table whose rows change after they are stored: vacuumed after so many changes."""


def table(name: str, comment: str, *parts: SchemaItem, **options: Any) -> Table:
    """A table of this database; ``parts`` are columns, constraints and indexes."""
    return Table(name, metadata, *parts, comment=comment, **options)


def key(name: str, *kind: Any, **options: Any) -> Column[Any]:
    """A column of the primary key."""
    return Column(name, *kind, primary_key=True, **options)


def required(name: str, *kind: Any, **options: Any) -> Column[Any]:
    """A column without NULL."""
    return Column(name, *kind, nullable=False, **options)


def required_texts(*names: str) -> tuple[Column[Any], ...]:
    """Columns of text without NULL."""
    return tuple(required(name, Text) for name in names)


def choice(name: str, words: str, note: str = "", **options: Any) -> tuple[SchemaItem, ...]:
    """A column of text that holds one of these words, without NULL unless ``options`` say so."""
    *others, last = words.split()
    shown = f"{', '.join(others)} or {last}"
    listed = ", ".join(f"'{word}'" for word in (*others, last))
    return (
        Column(name, Text, comment=f"{shown}; {note}" if note else shown, **{"nullable": False} | options),
        CheckConstraint(f"{name} IN ({listed})", name=f"{name}_known"),
    )


def index(name: str, *columns: Any, where: str | None = None, **options: Any) -> Index:
    """An index; with ``where`` only of the rows that match it."""
    return Index(name, *columns, postgresql_where=None if where is None else text(where), **options)
