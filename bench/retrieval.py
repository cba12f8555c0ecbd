"""Search over 100,000 chunks: latency by size of account, and recall of HNSW against an exact scan.

``python -m bench.retrieval`` starts its own Postgres, takes about five minutes and prints one JSON object.
Texts are made of a Zipf vocabulary in topics, their vectors of ``BenchEmbedder``: the figures are about
the search, not about any model.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import time
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Final

import orjson

from cli.stack import Stack
from db.documents import embedding_models, retrieval, search_statement, storage, vector_index
from db.pool import Pool, checkout, create_pool
from db.schema import migrate
from sandbox.replies.embeddings import text_embedding
from worker.documents.model import Chunk, DocumentFormat
from worker.documents.words import search_words

ACCOUNTS: Final = {"large": 0.8, "medium": 0.15, "small": 0.049, "tiny": 0.001}
TOPICS: Final = 400
VOCABULARY: Final = 20_000
PER_DOCUMENT: Final = 50
QUERIES: Final = 100


class BenchEmbedder:
    """``worker.ports.Embedder`` in this process.

    ``coded``: the sum of three of 180 directions, chosen by the text, and noise: neighbours are few and near,
    as with trained models. ``hash``: the sandbox's hashes, whose neighbours hardly differ in distance: the
    worst case of an index of neighbours.
    """

    def __init__(self, kind: str, dimensions: int) -> None:
        self._hash = kind == "hash"
        chance = random.Random(3)
        self._directions = [[chance.gauss() for _ in range(dimensions)] for _ in range(180)]

    async def embed(
        self,
        texts: Sequence[str],
        *,
        model: str,  # noqa: ARG002  # the port's
        dimensions: int = 0,
    ) -> tuple[tuple[float, ...], ...]:
        """One vector a text, the same for the same text."""
        return tuple(
            tuple(text_embedding(text, dimensions)) if self._hash else self._coded(text) for text in texts
        )

    def _coded(self, text: str) -> tuple[float, ...]:
        chance = random.Random(text)
        parts = [self._directions[60 * book + chance.randrange(60)] for book in range(3)]
        return tuple(a + b + c + 0.3 * chance.gauss() for a, b, c in zip(*parts, strict=True))


class Writer:
    """Makes texts and queries; the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._words = [
            "".join(self._random.choices("bcdfghklmnprstvw aeiou", k=7)).replace(" ", "i")
            for _ in range(VOCABULARY)
        ]
        self._common = list(accumulate(1 / (rank + 1) for rank in range(VOCABULARY)))
        self._topics = [self._random.sample(self._words[200:], 120) for _ in range(TOPICS)]

    def text(self, length: int = 110) -> str:
        """A passage: 60 % words of one topic, the rest of the whole language."""
        topic = self._random.choice(self._topics)
        common = self._random.choices(self._words, cum_weights=self._common, k=length)
        return " ".join(
            self._random.choice(topic) if self._random.random() < 0.6 else word for word in common
        )

    def query(self) -> str:
        """A question of ten words."""
        return self.text(10)


async def main() -> None:
    """Fill, index, measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--vectors", choices=["coded", "hash"], default="coded")
    parser.add_argument("--dimensions", type=int, default=256)
    options = parser.parse_args()
    with Stack() as servers:
        migrate.upgrade(servers.database_url)
        async with create_pool(servers.database_url, size=2, application="bench", role=None) as source:
            writer = Writer(7)
            model = BenchEmbedder(options.vectors, options.dimensions)
            started = time.perf_counter()
            stored = await embedding_models.get_or_create_embedder(
                source, "hash", options.dimensions, options.dimensions
            )
            await _fill(source, writer, model, stored, options.chunks)
            filled = time.perf_counter()
            await vector_index.ensure_index(source, stored)
            indexed = time.perf_counter()
            async with checkout(source) as connection:
                await connection.execute("VACUUM ANALYZE")
            print(
                orjson.dumps(
                    {
                        "chunks": options.chunks,
                        "dimensions": options.dimensions,
                        "vectors": options.vectors,
                        "fill_s": round(filled - started, 1),
                        "hnsw_build_s": round(indexed - filled, 1),
                        "accounts": {
                            name: await _measured(source, writer, model, name, stored) for name in ACCOUNTS
                        },
                    },
                    option=orjson.OPT_INDENT_2,
                ).decode()
            )


async def _fill(
    source: Pool, writer: Writer, model: BenchEmbedder, stored: embedding_models.StoredEmbedder, chunks: int
) -> None:
    for account, share in ACCOUNTS.items():
        for number in range(int(chunks * share) // PER_DOCUMENT):
            texts = [writer.text() for _ in range(PER_DOCUMENT)]
            upload = storage.Upload(
                user_id=account,
                source=f"{number}",
                content_hash=f"{number}",
                format=DocumentFormat.TEXT,
                size_bytes=0,
            )
            cut = [
                Chunk(number=at, title=f"Document {number}", text=text, start=0, end=len(text))
                for at, text in enumerate(texts, 1)
            ]
            vectors = await model.embed(texts, model="hash", dimensions=stored.dimensions)
            embedded = storage.Embedded(embedder=stored, vectors=vectors)
            await storage.store_document(
                source, upload, b"", title=f"Document {number}", chunks=cut, embedded=embedded
            )


async def _measured(
    source: Pool, writer: Writer, model: BenchEmbedder, account: str, stored: embedding_models.StoredEmbedder
) -> dict[str, Any]:
    queries = [writer.query() for _ in range(QUERIES)]
    hybrid = retrieval.PostgresRetriever(source, model)
    by_words = retrieval.PostgresRetriever(source)
    found: dict[str, Any] = {}
    async with checkout(source) as connection:
        row = await (
            await connection.execute("SELECT count(*) FROM chunks WHERE user_id = %s", (account,))
        ).fetchone()
    found["chunks"] = row[0] if row else 0
    for name, retriever in (("hybrid", hybrid), ("words", by_words)):
        times = []
        for query in queries:
            started = time.perf_counter()
            await retriever.search(account, query, 5)
            times.append((time.perf_counter() - started) * 1000)
        times.sort()
        found[f"{name}_p50_ms"] = round(statistics.median(times), 1)
        found[f"{name}_p95_ms"] = round(times[int(0.95 * len(times))], 1)
    found |= await _near(source, model, account, stored, queries)
    return found


async def _near(
    source: Pool,
    model: BenchEmbedder,
    account: str,
    stored: embedding_models.StoredEmbedder,
    queries: Sequence[str],
) -> dict[str, Any]:
    """Recall of HNSW against an exact scan at 10 and 50, and the latency of each."""
    names = {"embedder_id": stored.embedder_id, "dimensions": stored.dimensions, "labelled_v": ""}
    times: dict[str, list[float]] = {"exact": [], "hnsw": []}
    recalls: dict[int, list[float]] = {10: [], 50: []}
    async with checkout(source) as connection:
        for query in queries:
            (numbers,) = await model.embed([query], model="bench", dimensions=stored.dimensions)
            vector = embedding_models.vector_text(numbers)
            values = {"user_id": account, "vectors": [vector], "candidates": 50}
            keys: dict[str, list[Any]] = {}
            for name, part in (("exact", search_statement.EXACT), ("hnsw", search_statement.APPROXIMATE)):
                near = part.format(**names).lstrip(", ")
                statement = f"WITH {near} SELECT document_id, number FROM near ORDER BY distance"
                async with connection.transaction():
                    for setting, value in retrieval.SCAN.items():
                        await connection.execute("SELECT set_config(%s, %s, true)", (setting, value))
                    if name == "hnsw":
                        await connection.execute(
                            "SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off"
                        )
                    started = time.perf_counter()
                    cursor = await connection.execute(statement, values, prepare=False)
                    keys[name] = await cursor.fetchall()
                    times[name].append((time.perf_counter() - started) * 1000)
            for depth, recall in recalls.items():
                exact = set(keys["exact"][:depth])
                recall.append(len(exact & set(keys["hnsw"][:depth])) / max(1, len(exact)))
    return {
        **{f"{name}_scan_p50_ms": round(statistics.median(each), 1) for name, each in times.items()},
        **{f"recall_at_{depth}": round(statistics.mean(each), 4) for depth, each in recalls.items()},
    }


if __name__ == "__main__":
    assert search_words("a")  # the tokeniser is loaded before anything is timed
    asyncio.run(main())
