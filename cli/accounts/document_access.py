"""The database and the account of the commands for documents."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Final, TypeVar

import typer

from cli.accounts.store_account import warn_without_settings
from cli.options import own_connections, settings_of, with_pool
from cli.output import fail
from db.documents import configured_embedder, storage
from db.documents.embedding_models import has_pgvector, no_pgvector
from db.documents.ingest import EmbeddingModel
from db.model_servers.stored import with_stored_servers
from db.pool import Pool
from worker.ports import Embedder
from worker.settings import OFF, DocumentSettings

NOT_USED: Final = "HUSHGATE_EMBEDDINGS is off"
Value = TypeVar("Value")
UserIdOption = Annotated[
    str | None, typer.Option("--account", "-a", help="The account; optional if there is only one.")
]


@asynccontextmanager
async def open_documents() -> AsyncIterator[Pool]:
    """Connections with the login's own role."""
    async with own_connections(settings_of(DocumentSettings).database_url.get_secret_value()) as source:
        yield source


@asynccontextmanager
async def open_search() -> AsyncIterator[tuple[Pool, Embedder | None]]:
    """Connections with the login's own role, and what embeds queries."""
    known = settings_of(DocumentSettings)
    async with open_documents() as source, configured_embedder.open_embedder(known, source) as embedder:
        yield source, embedder


@asynccontextmanager
async def open_writing() -> AsyncIterator[tuple[Pool, EmbeddingModel | None]]:
    """Connections with the login's own role, and the embedding model if there is one."""
    known = settings_of(DocumentSettings)
    async with open_documents() as source, configured_embedder.open_model(known, source) as model:
        yield source, model


async def without_vectors(source: Pool) -> str:
    """Why a command of this shell has no embedding model."""
    if not await has_pgvector(source):
        return await no_pgvector(source)
    known = await with_stored_servers(settings_of(DocumentSettings), source)
    place = known.servers.embeddings
    if place is not None:
        return f"{place.url} gives no embeddings, or does not answer"
    if known.embeddings_name == OFF:
        return NOT_USED
    return "no server of embeddings is set in this shell (HUSHGATE_MODEL_URL or HUSHGATE_EMBEDDINGS_URL)"


def with_documents(account: str | None, work: Callable[[Pool, str], Awaitable[Value]]) -> Value:
    """What ``work`` returns for connections with the login's own role and the chosen account."""

    async def run(source: Pool) -> Value:
        return await work(source, await chosen_account(source, account))

    return with_pool(run, settings_of(DocumentSettings).database_url.get_secret_value())


async def chosen_account(source: Pool, given: str | None) -> str:
    """The named account, or the only account; a message says when the name has no settings."""
    if given:
        await warn_without_settings(source, given)
        return given
    known = await storage.list_accounts(source)
    if len(known) == 1:
        return known[0]
    shown = ", ".join(known) if known else "there is none yet"
    raise fail(f"--account: expected the account of the documents ({shown})")
