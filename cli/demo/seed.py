"""What the demo stores before it publishes."""

from __future__ import annotations

from cli.demo import events
from db import accounts
from db.documents import add_text
from db.pool import pool
from worker.account_settings import changed


async def accounts_and_documents(database_url: str) -> None:
    """Store the demo's accounts and documents, once."""
    wanted = events.setup()
    async with pool(database_url, size=2, application="hushgate-demo", role=None) as source:
        for user_id, settings in wanted["accounts"].items():
            current = await accounts.newest(source, user_id)
            account = changed(current, settings)
            if account != current:
                await accounts.store(source, account, changed_by="demo")
        for document in wanted["documents"]:
            await add_text(source, document["account"], document["title"], document["paragraphs"])
