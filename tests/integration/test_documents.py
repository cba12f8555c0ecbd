"""Documents on real Postgres: every outcome of an upload, and what may never happen to another account."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import count

import psycopg
import pytest

from db.documents import storage
from db.documents.storage import UploadOutcome
from db.pool import Pool
from tests.support.library import RETURNS, SHIPPING, add, opened, values

ACCOUNT_NUMBERS = count(1)
HELD = """
    SELECT user_id, lexeme, count(*) FROM chunks,
        LATERAL (SELECT '' UNION ALL SELECT unnest(tsvector_to_array(lexemes))) AS held (lexeme)
    GROUP BY user_id, lexeme ORDER BY user_id, lexeme
"""
COUNTED = "SELECT user_id, lexeme, chunks FROM account_words ORDER BY user_id, lexeme"


@pytest.fixture
async def source(database_url: str) -> AsyncIterator[Pool]:
    """Connections of the login's role."""
    async with opened(database_url) as pool:
        yield pool


@pytest.fixture
def account() -> str:
    """An account without documents."""
    return f"account-{next(ACCOUNT_NUMBERS)}"


async def test_the_same_document_again_changes_nothing(source: Pool, account: str) -> None:
    """Content and source decide, not when or how often."""
    first = await add(source, RETURNS, user_id=account, name="returns.md")
    again = await add(source, RETURNS, user_id=account, name="returns.md")

    assert (first.outcome, again.outcome) == (UploadOutcome.ADDED, UploadOutcome.UNCHANGED)
    assert first.document_id == again.document_id


async def test_a_changed_file_replaces_its_older_version(source: Pool, account: str) -> None:
    """One document a source, with the labels of the version before unless new ones came."""
    await add(source, RETURNS, user_id=account, name="a.md", labels={"team": "shop"})
    changed = await add(source, SHIPPING, user_id=account, name="a.md")
    rows = await storage.list_documents(source, account)

    assert changed.outcome is UploadOutcome.REPLACED
    assert [(row["id"], row["title"], row["labels"]) for row in rows] == [
        (changed.document_id, "Shipping", {"team": "shop"})
    ]


async def test_new_labels_are_taken_over_without_anything_else_changing(source: Pool, account: str) -> None:
    """Labels are filters, not content."""
    first = await add(source, RETURNS, user_id=account, name="a.md", labels={"class": "9"})
    again = await add(source, RETURNS, user_id=account, name="a.md", labels={"class": "10"})
    rows = await storage.list_documents(source, account, {"class": "10"})

    assert again.outcome is UploadOutcome.RELABELLED
    assert [row["id"] for row in rows] == [first.document_id]
    assert await storage.list_documents(source, account, {"class": "9"}) == []


async def test_the_same_content_elsewhere_is_a_duplicate(source: Pool, account: str) -> None:
    """It is stored once; the older version of the place it now lies at goes."""
    first = await add(source, RETURNS, user_id=account, name="a.md")
    await add(source, SHIPPING, user_id=account, name="b.md")
    again = await add(source, RETURNS, user_id=account, name="b.md")
    rows = await storage.list_documents(source, account)

    assert (again.outcome, again.document_id) == (UploadOutcome.DUPLICATE, first.document_id)
    assert [row["source"] for row in rows] == ["a.md"]


async def test_uploads_of_one_document_at_once_store_it_once(source: Pool, account: str) -> None:
    """Two people with the same idea do not make two documents."""
    outcomes = await asyncio.gather(*(add(source, RETURNS, user_id=account, name="a.md") for _ in range(4)))

    assert sorted(stored.outcome for stored in outcomes) == ["added", "unchanged", "unchanged", "unchanged"]


async def test_only_the_own_documents_can_be_listed_and_removed(source: Pool, account: str) -> None:
    """Another account's ids are as good as unknown."""
    mine = await add(source, RETURNS, user_id=account)
    theirs = await add(source, RETURNS, user_id=f"{account}-other")
    removed = await storage.remove_documents(source, account, [mine.document_id, theirs.document_id])

    assert removed == (mine.document_id,)
    assert await storage.list_documents(source, account) == []
    assert len(await storage.list_documents(source, f"{account}-other")) == 1


async def test_word_counts_are_those_of_the_chunks_after_any_change(source: Pool, account: str) -> None:
    """What the triggers keep is what counting anew gives."""
    await add(source, RETURNS, user_id=account, name="a.md")
    second = await add(source, SHIPPING, user_id=account, name="b.md")
    await add(source, RETURNS + SHIPPING, user_id=account, name="a.md")
    await add(source, RETURNS, user_id=f"{account}-other", name="a.md")
    await storage.remove_documents(source, account, [second.document_id])

    assert await values(source, COUNTED) == await values(source, HELD)


async def test_a_chunk_cannot_belong_to_another_account_than_its_document(source: Pool, account: str) -> None:
    """The database itself refuses it."""
    stored = await add(source, RETURNS, user_id=account)
    moved = "UPDATE chunks SET user_id = 'thief' WHERE document_id = %s RETURNING 1"

    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        await values(source, moved, stored.document_id)


@pytest.mark.parametrize("table", ["documents", "chunks", "chunk_embeddings", "embedders", "account_words"])
async def test_a_worker_may_read_documents_and_nothing_more(database_url: str, table: str) -> None:
    """Its role has SELECT alone."""
    async with opened(database_url, worker=True) as source:
        await values(source, f"SELECT count(*) FROM {table}")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await values(source, f"DELETE FROM {table} RETURNING 1")
