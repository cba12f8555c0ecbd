"""Documents in a test's database, and the embedding models that tests use."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from db.documents import embedding_models, storage
from db.documents.ingest import EmbeddingModel
from db.documents.storage import Embedded, StoredDocument, Upload
from db.pool import WORKER_ROLE, Pool, create_pool
from sandbox.server import SandboxHandle
from worker.adapters import openai_client
from worker.adapters.openai_embeddings import OpenAIEmbedder
from worker.documents import markdown
from worker.documents.chunking import document_chunks
from worker.documents.model import DocumentFormat

RETURNS = "# Returns\n\nGoods may be returned within thirty days. Keep the receipt.\n"
SHIPPING = "# Shipping\n\nParcels leave the warehouse within two working days.\n"
CHINESE = "# 退货政策\n\n三十天内可以退货，需要收据。\n"


@asynccontextmanager
async def opened(url: str, *, worker: bool = False) -> AsyncIterator[Pool]:
    """Connections as the command line has them, or as a worker has them."""
    role = WORKER_ROLE if worker else None
    async with create_pool(url, size=4, application="test", role=role) as source:
        yield source


@asynccontextmanager
async def embedding(
    sandbox: SandboxHandle, name: str = "hash", dimensions: int = 0, timeout_s: float = 10.0
) -> AsyncIterator[EmbeddingModel]:
    """The sandbox's embeddings through the real client."""
    client = openai_client.client(sandbox.base_url, None, connections=4)
    embedder = OpenAIEmbedder(client, timeout_s=timeout_s)
    try:
        yield EmbeddingModel(embedder=embedder, name=name, dimensions=dimensions)
    finally:
        await embedder.close()


async def add(
    source: Pool,
    text: str,
    *,
    user_id: str,
    name: str = "",
    model: EmbeddingModel | None = None,
    labels: Mapping[str, str] | None = None,
) -> StoredDocument:
    """Store a Markdown text the way the command line does."""
    data = text.encode()
    upload = Upload(
        user_id=user_id,
        source=name,
        content_hash=storage.content_hash(data),
        format=DocumentFormat.MARKDOWN,
        size_bytes=len(data),
        labels=labels,
    )
    if known := await storage.known_upload(source, upload):
        return known
    parsed = markdown.parse_markdown(text)
    cut = document_chunks(parsed, title=parsed.title)
    embedded = None
    if model:
        vectors = await model.embedder.embed([chunk.whole for chunk in cut], model=model.name)
        stored = await embedding_models.get_or_create_embedder(
            source, model.name, len(vectors[0]), model.dimensions
        )
        embedded = Embedded(embedder=stored, vectors=vectors)
    return await storage.store_document(
        source, upload, data, title=parsed.title, chunks=cut, embedded=embedded
    )


async def values(source: Pool, statement: str, *parameters: object) -> Sequence[tuple[object, ...]]:
    """The rows of a statement."""
    async with source.connection() as connection:
        return await (await connection.execute(statement.encode(), parameters)).fetchall()
