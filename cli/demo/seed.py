"""What the demo stores before it publishes, in accounts that are not in use."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

from cli.demo import events
from db.account_settings import account_versions, accounts
from db.documents.ingest import DocumentFile, DocumentOptions, Ingest
from db.documents.storage import add_text_document
from db.pool import Pool, create_pool
from worker.account_settings import changed
from worker.errors import ConfigurationError
from worker.model import Account

BY: Final = "demo"


class Origin(StrEnum):
    """Where the settings of an account come from, before the demo stores anything."""

    UNUSED = "unused"
    DEMO = "an earlier demo"
    OTHER = "not the demo"


async def accounts_and_documents(database_url: str) -> dict[str, Origin]:
    """Store the demo's settings and documents in unused accounts; the origin of each account before that."""
    sample = events.setup()
    files = [(each["account"], events.document_file(each["file"])) for each in sample["files"]]
    async with create_pool(database_url, size=2, application="hushgate-demo", role=None) as source:
        found = {user_id: await _origin(source, user_id) for user_id in sample["accounts"]}
        for user_id, settings in sample["accounts"].items():
            if found[user_id] is Origin.UNUSED:
                await _store(source, user_id, settings)
        for document in sample["documents"]:
            if found[document["account"]] is Origin.UNUSED:
                await add_text_document(
                    source, document["account"], document["title"], document["paragraphs"]
                )
        for user_id, file in files:
            if found[user_id] is Origin.UNUSED:
                await _add_file(source, user_id, file)
    return found


async def require_no_others(database_url: str) -> None:
    """Return when only the demo uses its accounts.

    Raises:
        ConfigurationError: an account is used otherwise; the demo would answer invented events in it.
    """
    async with create_pool(database_url, size=1, application="hushgate-demo", role=None) as source:
        for user_id in events.setup()["accounts"]:
            if await _origin(source, user_id) is Origin.OTHER:
                raise ConfigurationError(
                    f"{user_id}: expected an account that only the demo uses, got one with settings,"
                    " decisions or documents of its own; run the demo without DATABASE_URL"
                )


async def _origin(source: Pool, user_id: str) -> Origin:
    version = await account_versions.get_version(source, user_id)
    if version is not None:
        return Origin.DEMO if version.changed_by == BY else Origin.OTHER
    return Origin.OTHER if await accounts.is_used(source, user_id) else Origin.UNUSED


async def _add_file(source: Pool, user_id: str, file: DocumentFile) -> None:
    row = await Ingest(source, None, DocumentOptions(user_id=user_id)).add(file)
    assert row["outcome"] == "added", row  # the files belong to the demo


async def _store(source: Pool, user_id: str, settings: dict[str, Any]) -> None:
    account = changed(Account(user_id=user_id, version=0), settings)
    await accounts.store_account(source, account, changed_by=BY, expected=0)


def report(found: dict[str, Origin]) -> tuple[str, ...]:
    """One sentence for each account."""
    return tuple(
        f"account {user_id}: settings and documents of the demo stored"
        if origin is Origin.UNUSED
        else f"account {user_id}: in use already ({origin}), left as it is"
        for user_id, origin in found.items()
    )
