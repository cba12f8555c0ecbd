"""Hybrid search on real Postgres, with the sandbox's embeddings through the real client."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from itertools import count, product
from typing import Any, cast

import pytest

from db.commits.stored_event import look_up_event
from db.documents import embedding_models, retrieval, storage, vector_index
from db.documents.embedding_models import StoredEmbedder
from db.documents.retrieval import PostgresRetriever
from db.documents.search_statement import search_statement, searches_statement
from db.pool import Pool, create_pool
from sandbox.server import SandboxHandle
from tests.support.library import CHINESE, RETURNS, SHIPPING, add, embedding, opened, values
from tests.support.samples import event
from worker.batched_calls import call_batched
from worker.errors import StorageUnavailable
from worker.model import FoundBy

ACCOUNT_NUMBERS = count(1)
STORED = StoredEmbedder(embedder_id=7, model="m", dimensions=8, asked_dimensions=0)
STATEMENTS = [
    retrieval.READ_STATE,
    *(
        search_statement(embedder, exact=exact, labelled=labelled)
        for embedder, exact, labelled in product((STORED, None), (True, False), (True, False))
    ),
    *(
        searches_statement(embedder, labelled=labelled)
        for embedder in (STORED, None)
        for labelled in (True, False)
    ),
    storage.SAME_CONTENT,
    storage.SAME_SOURCE,
    storage.RELABEL,
    storage.LISTED,
    storage.REMOVE,
]
TENANT_TABLES = "documents|chunks|chunk_embeddings|account_words"


@pytest.fixture
async def source(database_url: str) -> AsyncIterator[Pool]:
    """Connections of the login's role."""
    async with opened(database_url) as pool:
        yield pool


@pytest.fixture
async def reader(database_url: str) -> AsyncIterator[Pool]:
    """Connections of the worker's role."""
    async with opened(database_url, worker=True) as pool:
        yield pool


@pytest.fixture
def account() -> str:
    """An account without documents."""
    return f"account-{next(ACCOUNT_NUMBERS)}"


@pytest.mark.parametrize("statement", STATEMENTS)
def test_every_table_in_every_statement_is_bound_to_the_account(statement: str) -> None:
    """Each mention of a tenant's table has its own ``user_id = %(user_id)s``, by its alias if it has one.

    A statement about several accounts has the account of its row instead, of ``asked`` or ``search``.
    """
    statement = re.sub(r"\b(?:asked|search)\.user_id", "%(user_id)s", statement)
    mentions = re.findall(
        rf"(?:FROM|JOIN|UPDATE)\s+(?:{TENANT_TABLES})\b(?:\s+(?!WHERE|SET|ON)(\w+))?", statement
    )
    bound = {alias: statement.count(f"{alias}.user_id = %(user_id)s") for alias in set(mentions) if alias}
    bare = len(re.findall(r"(?<![.\w])user_id = %\(user_id\)s", statement))

    assert mentions
    assert bare == mentions.count("")
    assert bound == {alias: mentions.count(alias) for alias in set(mentions) if alias}


async def test_a_passage_is_found_by_words_and_by_vector(
    source: Pool, reader: Pool, sandbox: SandboxHandle, account: str
) -> None:
    """Both searches find it, and its similarity is a cosine."""
    async with embedding(sandbox) as model:
        stored = await add(source, RETURNS, user_id=account, model=model)
        await add(source, SHIPPING, user_id=account, model=model)
        found = await PostgresRetriever(reader, model.embedder).search(account, "Can goods be returned?", 1)
    (passage,) = found.passages

    assert found.degraded == ""
    assert (passage.passage_id, passage.title) == (f"{stored.document_id}#1", "Returns")
    assert passage.found_by is FoundBy.BOTH
    assert 0.3 < passage.similarity < 1


async def test_passages_of_another_account_are_never_found(
    source: Pool, reader: Pool, sandbox: SandboxHandle, account: str
) -> None:
    """Neither by vector nor by words, even if other accounts have more or better passages."""
    other = f"{account}-other"
    async with embedding(sandbox) as model:
        mine = await add(source, SHIPPING, user_id=account, model=model)
        await add(source, RETURNS, user_id=other, model=model)
        retrievers = PostgresRetriever(reader, model.embedder), PostgresRetriever(reader)
        found = [await each.search(account, "goods returned thirty days receipt", 50) for each in retrievers]

    assert {p.passage_id for each in found for p in each} <= {f"{mine.document_id}#1"}


async def test_searches_at_once_find_what_each_finds_alone(
    source: Pool, reader: Pool, sandbox: SandboxHandle, account: str
) -> None:
    """They share a statement, and none gets the passages of another."""
    accounts = [f"{account}-{number}" for number in range(6)]
    async with embedding(sandbox) as model:
        for each, text in zip(accounts[:4], (RETURNS, SHIPPING, RETURNS + SHIPPING, CHINESE), strict=True):
            await add(source, text, user_id=each, model=model)
        retrievers = PostgresRetriever(reader, model.embedder), PostgresRetriever(reader)
        for retriever in retrievers:
            asked = [retriever.search(each, "goods returned, parcels, 退货", 5) for each in accounts]
            alone = [await retriever.search(each, "goods returned, parcels, 退货", 5) for each in accounts]
            together = await asyncio.gather(*asked)

            assert [each.passages for each in together] == [each.passages for each in alone]
            found = [tuple(passage.text for passage in each.passages) for each in together]
            assert len(set(found)) == 5


async def test_an_account_without_documents_costs_no_embedding(
    reader: Pool, sandbox: SandboxHandle, account: str
) -> None:
    """Nothing to search, nothing to pay."""
    async with embedding(sandbox) as model:
        found = await PostgresRetriever(reader, model.embedder).search(account, "anything", 5)

    assert found.passages == ()
    assert sandbox.calls("embeddings") == 0


@pytest.mark.parametrize(
    ("fault", "kind"),
    [("500", "server_error"), ("429", "rate_limited"), ("401", "rejected"), ("malformed", "malformed")],
)
async def test_without_the_embedding_model_search_goes_on_by_words(
    source: Pool, sandbox: SandboxHandle, account: str, fault: str, kind: str
) -> None:
    """The caller sees the failure; the similarity is then the share of the query's words."""
    async with embedding(sandbox) as model:
        await add(source, RETURNS, user_id=account, model=model)
        await add(source, SHIPPING, user_id=account, model=model)
        sandbox.add_rule("embeddings", fault)
        found = await PostgresRetriever(source, model.embedder).search(account, "returned goods", 5)

    assert found.degraded == kind
    assert [(p.title, p.similarity, p.found_by) for p in found] == [("Returns", 1.0, FoundBy.WORDS)]


async def test_the_look_up_of_an_event_reads_what_its_search_needs(
    source: Pool, sandbox: SandboxHandle, account: str
) -> None:
    """The count of chunks and the embedder, as the search itself would read them."""
    async with embedding(sandbox) as model:
        await add(source, RETURNS, user_id=account, model=model)
        looked_up = await look_up_event(source, event(user_id=account), datetime.now(UTC))
        read = await call_batched(source, retrieval.STATES, account)

    assert (looked_up.search.chunks, looked_up.search) == (1, read)
    assert looked_up.search.embedder is not None


async def test_without_postgres_there_is_no_search(database_url: str) -> None:
    """The event waits for Postgres; it is not decided without passages."""
    async with opened(database_url) as source:
        retriever = PostgresRetriever(source)
    with pytest.raises(StorageUnavailable):
        await retriever.search("anybody", "anything", 5)


async def test_labels_and_least_similarity_leave_passages_out(
    source: Pool, reader: Pool, sandbox: SandboxHandle, account: str
) -> None:
    """A document must carry every label asked for; a threshold holds for what is left."""
    async with embedding(sandbox) as model:
        await add(source, RETURNS, user_id=account, model=model, labels={"class": "9", "subject": "art"})
        await add(source, SHIPPING, user_id=account, model=model, labels={"class": "10", "subject": "art"})
        retriever = PostgresRetriever(reader, model.embedder)
        by_class = await retriever.search(account, "goods", 5, labels={"class": "10", "subject": "art"})
        by_none = await retriever.search(account, "goods", 5, labels={"class": "11"})
        near = await retriever.search(account, "Goods may be returned", 5, min_similarity=0.3)

    assert [passage.title for passage in by_class] == ["Shipping"]
    assert by_none.passages == ()
    assert [passage.title for passage in near] == ["Returns"]


@pytest.mark.parametrize(
    ("query", "title"),
    [("退货需要收据吗？", "退货政策"), ("RETURNING good", "Returns"), ("parcel", "Shipping")],
)
async def test_words_are_found_in_other_forms_and_scripts(
    source: Pool, reader: Pool, account: str, query: str, title: str
) -> None:
    """English endings and case do not matter, and Chinese needs no spaces."""
    for text in (RETURNS, SHIPPING, CHINESE):
        await add(source, text, user_id=account)
    found = await PostgresRetriever(reader).search(account, query, 1)

    assert [passage.title for passage in found] == [title]


async def test_a_rare_word_counts_more_than_a_common_one(source: Pool, reader: Pool, account: str) -> None:
    """Of two chunks with half the words each, the one with the rarer half is the nearer."""
    for number in range(8):
        await add(source, f"Our goods number {number}.", user_id=account)
    await add(source, "A zebra.", user_id=account)
    found = await PostgresRetriever(reader).search(account, "goods zebra", 2)

    assert found.passages[0].text == "A zebra."
    assert found.passages[0].similarity > 0.5 > found.passages[1].similarity


@pytest.mark.parametrize(
    "query", ["", " ", "\0", "\ud800", "' | & ! <-> :*", "%(user_id)s", "%s", "\\", "a" * 100_000, "🙂"]
)
async def test_a_hostile_query_finds_nothing_and_breaks_nothing(
    source: Pool, reader: Pool, sandbox: SandboxHandle, account: str, query: str
) -> None:
    """Queries are data, of any length and any characters."""
    await add(source, RETURNS, user_id=account)
    found = await PostgresRetriever(reader).search(account, query, 5)

    assert found.passages == ()


async def test_hnsw_finds_the_own_chunks_among_many_of_others(
    source: Pool, reader: Pool, sandbox: SandboxHandle, account: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scan goes on until enough chunks of this account are found, though it has one in twenty-one."""
    monkeypatch.setattr(retrieval, "EXACT_NUMBERS", 0)
    crowd = "\n\n".join(
        f"# Returns {n}\n\n" + f"Goods may be returned within {n} days. " * 9 for n in range(200)
    )
    own = "\n\n".join(f"# Parcels {n}\n\n" + f"Parcels {n} leave the warehouse. " * 10 for n in range(10))
    async with embedding(sandbox) as model:
        await add(source, crowd, user_id=f"{account}-crowd", model=model)
        await add(source, own, user_id=account, model=model)
        active = await embedding_models.active_embedder(source)
        assert active is not None
        await vector_index.ensure_index(source, active, least=0)
        async with source.connection() as connection:
            await connection.execute("ANALYZE chunk_embeddings")
        found = await PostgresRetriever(reader, model.embedder).search(account, "goods returned", 10)
    indexes = await values(source, "SELECT indexname FROM pg_indexes WHERE tablename = 'chunk_embeddings'")

    assert (f"hnsw_{active.embedder_id}",) in indexes
    assert len(found) == 10
    assert all(FoundBy.WORDS is not passage.found_by for passage in found)


async def test_postgres_keeps_the_plan_of_a_search(source: Pool, account: str, database_url: str) -> None:
    """Planning takes longer than searching a small account."""
    await add(source, RETURNS, user_id=account)
    async with create_pool(database_url, size=1, application="test") as pool:
        retriever = PostgresRetriever(pool)
        for number in range(15):
            await retriever.search(account, f"Within {number} days?", 5)
        plans = await values(
            pool,
            "SELECT generic_plans FROM pg_prepared_statements WHERE statement ~ 'account AS MATERIALIZED'",
        )

    ((kept,),) = plans
    assert cast("int", kept) > 0


async def test_the_index_is_what_answers_for_a_large_account(
    source: Pool, reader: Pool, sandbox: SandboxHandle
) -> None:
    """The statement for large accounts matches the partial index, though parameters are bound.

    A login that does not own the table leaves the index to its owner.
    """
    async with embedding(sandbox) as model:
        stored = await add(source, RETURNS, user_id="planner", model=model)
        active = await embedding_models.active_embedder(source)
        assert active is not None
        assert not await vector_index.ensure_index(reader, active, least=0)
        await vector_index.ensure_index(source, active, least=0)
    assert stored.document_id > 0
    statement = search_statement(active, exact=False, labelled=False)
    parameters = {
        "user_id": "planner",
        "words": ["returns"],
        "boosts": [1.0],
        "vectors": [embedding_models.vector_text([1.0] * active.dimensions)],
        "candidates": 50,
        "most": 5,
        "min_similarity": 0.0,
    }
    async with source.connection() as connection, connection.transaction():
        await connection.execute("SET LOCAL enable_sort = off")
        await connection.execute("SET LOCAL enable_seqscan = off")
        cursor = await connection.execute(b"EXPLAIN " + statement.encode(), parameters)
        plan = "\n".join(row[0] for row in await cursor.fetchall())

    assert f"Index Scan using hnsw_{active.embedder_id}" in plan


SHOP = (
    "# Opening hours\n\nThe shop in Mill Lane is open from Monday to Friday, and on Saturday to two.",
    "# Rental\n\nBikes are rented by the day. On Saturday the workshop hands them out from eight.",
    "# Bremsbeläge\n\nDie Bremsbeläge und Ersatzteile unserer Räder liegen im Lager und werden gewechselt.",
    "# Screws\n\nThe screw AB-1234/7 is 4.5 mm long.",
    "# Nuts\n\nThe nut AB-1234/8 is 5.4 mm wide.",
    "# Helmets\n\nA helmet that had a hard knock must be replaced.",
)


async def shop(source: Pool, account: str) -> None:
    """Documents of a shop."""
    for text in SHOP:
        await add(source, text, user_id=account)


@pytest.mark.parametrize(
    ("query", "earlier", "title"),
    [
        ("And on Saturday?", ("When is the shop in Mill Lane open?", "From nine to six."), "Opening hours"),
        ("And on Saturday?", ("Do you rent bikes?", "Yes, by the day."), "Rental"),
        ("Do you have helmts?", (), "Helmets"),
        ("Wechselt ihr einen Bremsbelag?", (), "Bremsbeläge"),
        ("Ersatzteil", (), "Bremsbeläge"),
        ("AB-1234/8", (), "Nuts"),
        ("Which one is 4,5 mm?", (), "Screws"),
        (
            "Good morning! On Saturday I was in the shop and looked at bikes on Mill Lane, it was open."
            " Must my helmet be replaced? Thanks!",
            (),
            "Helmets",
        ),
    ],
)
async def test_the_passage_is_found_as_people_write(
    source: Pool, account: str, query: str, earlier: tuple[str, ...], title: str
) -> None:
    """A follow-up, a typing error, German forms, a code, an amount, and a question after a story."""
    await shop(source, account)
    found = await PostgresRetriever(source).search(account, query, 3, earlier=earlier)

    assert found.passages[0].title == title


async def test_a_word_with_digits_is_not_replaced_by_a_similar_one(
    source: Pool, reader: Pool, account: str
) -> None:
    """The article that was asked for is not the one with the next number."""
    await shop(source, account)
    found = await PostgresRetriever(reader).search(account, "XYZ-1234567", 3)

    assert found.passages == ()


async def test_a_story_is_compared_by_its_question_too(
    source: Pool, reader: Pool, sandbox: SandboxHandle, account: str
) -> None:
    """One request with the message, its sentences, and the message after the line it continues."""
    async with embedding(sandbox) as model:
        for text in SHOP:
            await add(source, text, user_id=account, model=model)
        question = "Must a helmet be replaced?"
        story = f"We cycled for three weeks through the rain and the snow. {question}"
        retriever = PostgresRetriever(reader, model.embedder)
        of_story = await retriever.search(account, story, 1, earlier=("Hello", "Hi"))
        of_question = await retriever.search(account, question, 1)
    asked = cast("dict[str, Any]", sandbox.requests(last=2, route="embeddings")[1]["body"])["input"]

    assert (of_story.passages[0].title, of_story.passages[0].found_by) == ("Helmets", FoundBy.BOTH)
    assert of_story.passages[0].similarity == pytest.approx(of_question.passages[0].similarity, abs=0.001)
    assert asked[:3] == [story, f"Hello\n{story}", question]
