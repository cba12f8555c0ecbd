"""The database and the account of the commands for documents."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

import typer

from cli.options import own_connections, settings_of
from cli.output import fail
from db.documents import configured_embedder, storage
from db.documents.configured_embedder import BATCH_TIMEOUT_S
from db.documents.ingest import EmbeddingModel
from db.pool import Pool
from worker.settings import DocumentSettings

UserIdOption = Annotated[
    str | None, typer.Option("--account", "-a", help="The account; optional if there is only one.")
]


@asynccontextmanager
async def open_documents(
    patience_s: float = BATCH_TIMEOUT_S,
) -> AsyncIterator[tuple[Pool, EmbeddingModel | None]]:
    """Connections with the login's own role, and the embedding model if one is set."""
    known = settings_of(DocumentSettings)
    async with (
        own_connections(known.database_url.get_secret_value()) as source,
        configured_embedder.open_model(known, patience_s=patience_s) as model,
    ):
        yield source, model


async def chosen_account(source: Pool, given: str | None) -> str:
    """The account that was named, or the only one there is."""
    if given:
        return given
    known = await storage.list_accounts(source)
    if len(known) == 1:
        return known[0]
    shown = ", ".join(known) if known else "there is none yet"
    raise fail(f"--account: expected the account of the documents ({shown})")
