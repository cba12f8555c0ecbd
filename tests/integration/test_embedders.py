"""Changing the embedding model while searches go on, and what its vectors mean."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import psycopg
import pytest

from db.documents import embedding_models, ingest, model_change, storage
from db.documents.ingest import EmbeddingModel
from db.documents.retrieval import PostgresRetriever
from db.documents.storage import UploadOutcome
from db.pool import Pool
from sandbox.server import SandboxHandle
from tests.support.library import RETURNS, SHIPPING, add, embedding, opened, values
from tests.support.waiting import waiting_for_locks
from worker.adapters.openai_embeddings import BATCH_TEXTS
from worker.documents.model import DocumentFormat
from worker.errors import ConfigurationError, EmbeddingRejected, RetrievalUnavailable


@pytest.fixture
async def source(database_url: str) -> AsyncIterator[Pool]:
    """Connections of the login's role, and no document at all."""
    async with opened(database_url) as pool:
        async with pool.connection() as connection:
            await connection.execute("TRUNCATE documents, embedders CASCADE")
            await connection.execute("TRUNCATE account_words")
        yield pool


async def states(source: Pool) -> list[tuple[object, ...]]:
    return list(await values(source, "SELECT model, dimensions, state FROM embedders ORDER BY id"))


async def reembed(source: Pool, model: EmbeddingModel, *, batch: int = 128) -> list[tuple[int, int]]:
    return [step async for step in model_change.reembed_chunks(source, model, batch=batch)]


async def test_the_first_model_is_the_one_that_searches_use(source: Pool, sandbox: SandboxHandle) -> None:
    """Its length is the length of its vectors, independent of the request."""
    async with embedding(sandbox) as model:
        await add(source, RETURNS, user_id="acme", model=model)

    assert await states(source) == [("hash", 256, "active")]


async def test_another_model_is_refused_with_the_way_to_change_over(
    source: Pool, sandbox: SandboxHandle
) -> None:
    """By its name or its length, before anything is embedded."""
    async with embedding(sandbox) as model:
        await add(source, RETURNS, user_id="acme", model=model)
    calls = sandbox.calls("embeddings")
    for name, dimensions in (("other", 0), ("hash", 64)):
        async with embedding(sandbox, name, dimensions) as model:
            with pytest.raises(ConfigurationError, match="hushgate documents reembed"):
                await ingest.check_embedder(source, model)

    assert sandbox.calls("embeddings") == calls


async def test_a_model_that_changes_its_length_behind_its_name_is_refused(
    source: Pool, sandbox: SandboxHandle
) -> None:
    """Only the answer shows it, and nothing is stored."""
    async with embedding(sandbox) as model:
        await add(source, RETURNS, user_id="acme", model=model)
        async with source.connection() as connection:
            await connection.execute("UPDATE embedders SET dimensions = 128")
        adding = ingest.Ingest(source, model, ingest.DocumentOptions(user_id="acme"))
        with pytest.raises(ConfigurationError, match=r"hash with 128.*reembed"):
            await adding.add(ingest.DocumentFile(name="shipping.md", source="", data=SHIPPING.encode()))

    assert await states(source) == [("hash", 128, "active")]


async def test_reembedding_swaps_models_when_all_is_done(source: Pool, sandbox: SandboxHandle) -> None:
    """Afterwards searches ask the new model, and the old vectors and their index are gone."""
    async with embedding(sandbox) as model:
        await add(source, RETURNS, user_id="acme", model=model)
        await add(source, SHIPPING, user_id="other", model=model)
    async with embedding(sandbox, "new", 64) as model:
        steps = await reembed(source, model, batch=1)
        found = await PostgresRetriever(source, model.embedder).search("acme", "goods returned", 5)
    bodies = sandbox.requests(last=1, route="embeddings")

    assert steps == [(1, 2), (2, 2)]
    assert await states(source) == [("new", 64, "active")]
    assert [passage.title for passage in found] == ["Returns"]
    assert "new" in str(bodies[0]["body"])


async def test_an_interrupted_reembedding_goes_on_where_it_stopped(
    source: Pool, sandbox: SandboxHandle
) -> None:
    """Meanwhile searches use the old vectors, and nothing is paid twice."""
    async with embedding(sandbox) as model:
        for number in range(6):
            await add(source, f"{RETURNS}\n\nNumber {number}.", user_id="acme", model=model)
        async with embedding(sandbox, "new", 64) as new:
            steps = model_change.reembed_chunks(source, new, batch=2)
            assert await anext(steps) == (2, 6)
            await steps.aclose()
        found = await PostgresRetriever(source, model.embedder).search("acme", "goods returned", 6)
    async with embedding(sandbox, "new", 64) as new:
        rest = await reembed(source, new, batch=2)

    assert len(found) == 6
    assert all(passage.similarity < 1 for passage in found)
    assert rest == [(4, 6), (6, 6)]
    assert await states(source) == [("new", 64, "active")]


async def test_two_reembeddings_do_not_run_at_once(source: Pool, sandbox: SandboxHandle) -> None:
    """The second is refused and the first goes on."""
    async with embedding(sandbox) as model, embedding(sandbox, "new", 64) as new:
        await add(source, RETURNS, user_id="acme", model=model)
        steps = model_change.reembed_chunks(source, new)
        await anext(steps)
        with pytest.raises(ConfigurationError, match="already running"):
            await reembed(source, model)
        rest = [step async for step in steps]

    assert rest == []
    assert await states(source) == [("new", 64, "active")]


async def test_an_abandoned_model_is_cleared_away_by_the_next_reembedding(
    source: Pool, sandbox: SandboxHandle
) -> None:
    """Going back to the old model leaves nothing of the one that was begun."""
    async with embedding(sandbox) as model, embedding(sandbox, "new", 64) as new:
        await add(source, RETURNS, user_id="acme", model=model)
        steps = model_change.reembed_chunks(source, new)
        await anext(steps)
        await steps.aclose()
        await reembed(source, model)

    assert await states(source) == [("hash", 256, "active")]
    assert list(await values(source, "SELECT count(*) FROM chunk_embeddings")) == [(1,)]


async def test_a_document_added_during_reembedding_is_embedded_too(
    source: Pool, sandbox: SandboxHandle
) -> None:
    """Activation waits for documents that were added meanwhile."""
    async with embedding(sandbox) as model, embedding(sandbox, "new", 64) as new:
        await add(source, RETURNS, user_id="acme", model=model)
        steps = model_change.reembed_chunks(source, new, batch=1)
        await anext(steps)
        await add(source, SHIPPING, user_id="acme", model=model)
        rest = [step async for step in steps]
    listed = await storage.list_documents(source, "acme")

    assert rest == [(2, 2)]
    assert [(row["chunks"], row["vectors"]) for row in listed] == [(1, 1), (1, 1)]


async def test_vectors_made_before_a_swap_are_not_stored_after_it(
    source: Pool, sandbox: SandboxHandle
) -> None:
    """The command is to be run again; nothing half-done is left."""
    async with embedding(sandbox) as model:
        await add(source, RETURNS, user_id="acme", model=model)
        old = await embedding_models.active_embedder(source)
        async with embedding(sandbox, "new", 64) as new:
            await reembed(source, new)
        assert old is not None
        vectors = await model.embedder.embed(["x"], model="hash")
        upload = storage.Upload(
            user_id="acme", source="", content_hash="x", format=DocumentFormat.TEXT, size_bytes=1
        )
        embedded = storage.Embedded(embedder=old, vectors=vectors)
        with pytest.raises(ConfigurationError, match="run the command again"):
            await storage.store_document(source, upload, b"", title="", chunks=(), embedded=embedded)


async def test_documents_stored_without_a_model_get_their_vectors_later(
    source: Pool, sandbox: SandboxHandle
) -> None:
    """Re-embedding fills what is missing, for a first model as well."""
    await add(source, RETURNS, user_id="acme")
    async with embedding(sandbox) as model:
        await reembed(source, model)
    (row,) = await storage.list_documents(source, "acme")

    assert (row["chunks"], row["vectors"]) == (1, 1)


async def test_many_texts_are_asked_for_in_batches_and_come_back_in_order(sandbox: SandboxHandle) -> None:
    """Each request has at most ``BATCH_TEXTS``."""
    texts = [f"text number {number}" for number in range(BATCH_TEXTS + 2)]
    async with embedding(sandbox) as model:
        vectors = await model.embedder.embed(texts, model="hash")
        (last,) = await model.embedder.embed(texts[-1:], model="hash")

    assert len(vectors) == len(texts)
    assert vectors[-1] == pytest.approx(last)
    assert sandbox.calls("embeddings") == 3


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("401", EmbeddingRejected),
        ("400", EmbeddingRejected),
        ("429", RetrievalUnavailable),
        ("503", RetrievalUnavailable),
        ("reset", RetrievalUnavailable),
        ("malformed", RetrievalUnavailable),
        ("empty", RetrievalUnavailable),
    ],
)
async def test_every_failure_of_the_model_is_one_of_two_errors(
    sandbox: SandboxHandle, fault: str, expected: type[Exception]
) -> None:
    """Asking again may help, or cannot; never a vector that was not given."""
    sandbox.add_rule("embeddings", fault)
    async with embedding(sandbox) as model:
        with pytest.raises(expected):
            await model.embedder.embed(["text"], model="hash")


async def test_a_busy_model_is_asked_again_after_the_time_it_names(sandbox: SandboxHandle) -> None:
    """The command line does not give up a folder for one 429."""
    sandbox.add_rule("embeddings", "429", times=1, retry_after_s=0)
    async with embedding(sandbox) as model:
        vectors: Sequence[Sequence[float]] = await ingest.embed_texts(model, ["text"])

    assert len(vectors) == 1
    assert sandbox.calls("embeddings") == 2


async def test_a_change_of_models_does_not_wait_for_an_upload_that_waits_for_it(
    source: Pool, database_url: str
) -> None:
    """Both need the active model and the table of chunks; the chunk that came first lacks its vector."""
    await embedding_models.create_first_embedder(source, "hash", 256, 0)
    new = await embedding_models.get_or_create_embedder(source, "new", 64, 0)
    with psycopg.connect(database_url) as owner:
        owner.execute("LOCK TABLE documents IN SHARE MODE")
        upload = asyncio.ensure_future(add(source, RETURNS, user_id="acme"))
        await waiting_for_locks(database_url, 1)
        change = asyncio.ensure_future(model_change.activate_embedder(source, new))
        await waiting_for_locks(database_url, 2)

    assert (await upload).outcome is UploadOutcome.ADDED
    assert not await change
