"""Saved views: filters stored under a name, private or shared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import psycopg
import sqlalchemy as sa

from db.connection import Connection
from db.people.records import EVERY_ACCOUNT
from db.people.tables import people, person_roles
from db.review_tables import saved_views
from db.rows import changed_rows, rows_as

MOST: Final = 100
"""Views that one person may save."""
LONGEST_NAME: Final = 80


class ViewRefused(Exception):
    """A view cannot be saved; the text gives the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedView:
    """One saved view.

    Attributes:
        mine: True when the person is the owner.
        query: the filters as a URL's query.
    """

    view_id: UUID
    name: str
    owner: str
    mine: bool
    query: str
    shared: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedView:
    """A saved view with the login of its owner, whose filters ``me`` means."""

    login: str
    name: str
    query: str


async def views_named(connection: Connection, text: str) -> tuple[NamedView, ...]:
    """The views of all people that ``NAME`` or ``LOGIN/NAME`` means, by login."""
    query = (
        sa.select(people.c.login, saved_views.c.name, saved_views.c.query)
        .join(people, people.c.id == saved_views.c.person_id)
        .where(sa.or_(saved_views.c.name == text, people.c.login + "/" + saved_views.c.name == text))
        .order_by(people.c.login, saved_views.c.id)
    )
    return await rows_as(connection, NamedView, query)


def views_query(person_id: UUID, accounts: Sequence[str] | None) -> sa.Select[Any]:
    """The person's own views and those that others share, by name, with the columns of ``SavedView``.

    A view's name and filters come from what its owner reads, so it is shared with people who see one of the
    owner's accounts, and with all that may see ``accounts`` None: every account.
    """
    owner = sa.func.coalesce(sa.func.nullif(people.c.name, ""), people.c.login)
    shared: sa.ColumnElement[bool] = saved_views.c.shared
    if accounts is not None:
        theirs = person_roles.c.user_id.in_([*accounts, EVERY_ACCOUNT])
        shared &= sa.exists().where(person_roles.c.person_id == saved_views.c.person_id, theirs)
    mine = (saved_views.c.person_id == person_id).label("mine")
    columns = (
        saved_views.c.id.label("view_id"),
        *(saved_views.c[each] for each in ("name", "query", "shared")),
    )
    return (
        sa.select(*columns, owner.label("owner"), mine)
        .join(people, people.c.id == saved_views.c.person_id)
        .where(sa.or_(mine.element, shared))
        .order_by(sa.func.lower(saved_views.c.name), saved_views.c.id)
    )


async def list_views(
    connection: Connection, person_id: UUID, accounts: Sequence[str] | None
) -> tuple[SavedView, ...]:
    """The views of ``views_query``."""
    return await rows_as(connection, SavedView, views_query(person_id, accounts))


async def save_view(connection: Connection, view_id: UUID, person_id: UUID, *, name: str, query: str) -> None:
    """Save a private view.

    Raises:
        ViewRefused: the name is empty, too long or taken, or there are too many.
    """
    mine = sa.select(sa.func.count()).select_from(saved_views).where(saved_views.c.person_id == person_id)
    if (await connection.execute(mine)).scalar_one() >= MOST:
        raise ViewRefused(f"You have {MOST} views already: delete one first.")
    values = {"id": view_id, "person_id": person_id, "name": _named(name), "query": query}
    await _unless_taken(connection, sa.insert(saved_views).values(values), name)


async def change_view(
    connection: Connection, view_id: UUID, person_id: UUID, *, name: str, shared: bool
) -> bool:
    """Rename, share or unshare a view of the person; False when there is none.

    Raises:
        ViewRefused: the name is empty, too long or taken.
    """
    statement = sa.update(saved_views).where(*_own(view_id, person_id))
    return await _unless_taken(connection, statement.values(name=_named(name), shared=shared), name)


async def delete_view(connection: Connection, view_id: UUID, person_id: UUID) -> bool:
    """Delete a view of the person; False when there is none."""
    return bool(await changed_rows(connection, sa.delete(saved_views).where(*_own(view_id, person_id))))


def _own(view_id: UUID, person_id: UUID) -> tuple[sa.ColumnElement[bool], ...]:
    return (saved_views.c.id == view_id, saved_views.c.person_id == person_id)


def _named(name: str) -> str:
    name = " ".join(name.split())
    if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        raise ViewRefused(f"Name: expected 1 to {LONGEST_NAME} characters, got {len(name)}.")
    return name


async def _unless_taken(connection: Connection, statement: sa.Executable, name: str) -> bool:
    try:
        async with connection.transaction():
            return bool(await changed_rows(connection, statement))
    except psycopg.IntegrityError as error:
        raise ViewRefused(f"Name: expected one you do not use yet, got {name!r}.") from error
