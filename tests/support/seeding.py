"""What tests put into a database before they begin."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from db.documents.storage import add_text_document
from db.pool import create_pool


def seed_document(url: str, user_id: str, title: str, paragraphs: Sequence[str]) -> None:
    """Store a document of an account, one chunk a paragraph, as the database's owner."""
    asyncio.run(_add(url, user_id, title, paragraphs))


async def _add(url: str, user_id: str, title: str, paragraphs: Sequence[str]) -> None:
    async with create_pool(url, size=1, application="test", role=None) as source:
        await add_text_document(source, user_id, title, paragraphs)
