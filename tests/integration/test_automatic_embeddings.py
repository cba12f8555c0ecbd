"""An embedding model without a setting: found where the server has one, missed nowhere."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import pytest

from cli.demo.up import prepare
from db.documents import configured_embedder, embedding_models, storage
from db.documents.ingest import DocumentFile, DocumentOptions, Ingest
from db.documents.retrieval import PostgresRetriever
from db.pool import Pool
from sandbox.server import SandboxHandle
from tests.support.library import RETURNS, add, embedding, opened
from worker.model import FoundBy
from worker.settings import DocumentSettings

OPTIONS = DocumentOptions(user_id="acme")
FILE = DocumentFile(name="returns.md", source="returns.md", data=RETURNS.encode())


@pytest.fixture
async def source(database_url: str) -> AsyncIterator[Pool]:
    """Connections of the login's role, and no document at all."""
    async with opened(database_url) as pool:
        async with pool.connection() as connection:
            await connection.execute("TRUNCATE documents, embedders CASCADE")
            await connection.execute("TRUNCATE account_words")
        yield pool


def variables(url: str, sandbox: SandboxHandle, **more: str) -> Mapping[str, str]:
    """Of a deployment whose only server is the sandbox."""
    return {"DATABASE_URL": url, "OPENROUTER_BASE_URL": sandbox.base_url, **more}


async def added(url: str, source: Pool, sandbox: SandboxHandle) -> tuple[str, str]:
    """A document added with the model that the server has: the outcome, and why it has no vectors."""
    known = DocumentSettings.model_validate(variables(url, sandbox))
    async with configured_embedder.open_model(known, source) as model:
        ingest = Ingest(source, model, OPTIONS)
        row = await ingest.add(FILE)
    return row["outcome"], ingest.failure


async def vectors(source: Pool) -> int:
    """Of the account's documents."""
    return sum(row["vectors"] for row in await storage.list_documents(source, "acme"))


async def test_a_document_gets_vectors_of_the_model_that_the_server_lists(
    database_url: str, source: Pool, sandbox: SandboxHandle
) -> None:
    """No variable names it; searches use it."""
    outcome, failure = await added(database_url, source, sandbox)
    known = DocumentSettings.model_validate(variables(database_url, sandbox))
    async with configured_embedder.open_embedder(known, source) as embedder:
        found = await PostgresRetriever(source, embedder).search("acme", "Can goods be returned?", 1)

    assert (outcome, failure) == ("added", "")
    assert await vectors(source) == 1
    assert found.passages[0].found_by is FoundBy.BOTH


@pytest.mark.parametrize("fault", ["404", "401", "500"])
async def test_a_server_without_embeddings_leaves_documents_to_words(
    database_url: str, source: Pool, sandbox: SandboxHandle, fault: str
) -> None:
    """The document is added, and nothing fails."""
    sandbox.add_rule("embeddings", fault)
    outcome, failure = await added(database_url, source, sandbox)

    assert (outcome, failure) == ("added", "")
    assert await embedding_models.active_embedder(source) is None


async def test_a_model_in_use_that_fails_leaves_a_document_without_vectors(
    database_url: str, source: Pool, sandbox: SandboxHandle
) -> None:
    """No setting asks for vectors, so the document is stored; the reason is known."""
    async with embedding(sandbox) as model:
        await add(source, "# Hours\n\nNine to six.", user_id="other", model=model)
    sandbox.add_rule("embeddings", "401")
    outcome, failure = await added(database_url, source, sandbox)

    assert outcome == "added"
    assert "embeddings of hash" in failure
    assert await vectors(source) == 0


async def test_a_local_fleet_embeds_what_has_no_vector_at_its_start(
    database_url: str, source: Pool, sandbox: SandboxHandle
) -> None:
    """Documents that came before the model get their vectors; a second start tries the model once."""
    await add(source, RETURNS, user_id="acme")
    environment = variables(database_url, sandbox)
    first = await prepare(environment, database_url)
    paid = sandbox.calls("embeddings")
    second = await prepare(environment, database_url)

    assert first == second
    assert first.endswith(f" of {sandbox.base_url}, which answered")
    assert await vectors(source) == 1
    assert sandbox.calls("embeddings") == paid + 1


async def test_a_model_in_use_that_fails_at_a_later_start_is_named(
    database_url: str, source: Pool, sandbox: SandboxHandle
) -> None:
    """No vector is missing, and searches would fail."""
    await add(source, RETURNS, user_id="acme")
    await prepare(variables(database_url, sandbox), database_url)
    sandbox.add_rule("embeddings", "401")
    said = await prepare(variables(database_url, sandbox), database_url)

    assert said.startswith("the embedding model failed (")


async def test_a_local_fleet_whose_server_has_no_embeddings_starts_with_words(
    database_url: str, source: Pool, sandbox: SandboxHandle
) -> None:
    """It says so, once."""
    await add(source, RETURNS, user_id="acme")
    sandbox.add_rule("embeddings", "404")
    said = await prepare(variables(database_url, sandbox), database_url)

    assert said == f"{sandbox.base_url} gives no embeddings, or does not answer: searches use words only"
    assert await vectors(source) == 0


async def test_a_local_fleet_without_a_server_leaves_embeddings_to_the_connected_server(
    database_url: str,
) -> None:
    """Off are embeddings that a variable switches off."""
    bare = {"DATABASE_URL": database_url}
    said = [await prepare(each, database_url) for each in (bare, bare | {"HUSHGATE_EMBEDDINGS": "off"})]

    assert ["are off" in each for each in said] == [False, True]
    assert "Connect" in said[0]
