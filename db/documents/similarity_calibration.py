"""Calibration: the similarities that unrelated texts have under an embedding model."""

from __future__ import annotations

from typing import Final

from db.documents.embedding_models import StoredEmbedder, vector_text
from db.pool import Pool, checkout, fetch_value
from worker.calibration import LEAST_SAMPLE, SAMPLE, SHARES, background
from worker.ports import Embedder

BACKGROUND: Final = """
    WITH passages AS (
        (SELECT embedding FROM chunk_embeddings WHERE embedder_id = %(embedder_id)s
         ORDER BY hashint8(document_id * 100003 + number) LIMIT %(sample)s)
        UNION ALL SELECT passage::halfvec FROM unnest(%(passages)s::text[]) AS passage
    ), pairs AS (
        SELECT greatest(0, 1 - (embedding <=> question::halfvec)) AS similarity
        FROM passages, unnest(%(questions)s::text[]) AS question
    )
    UPDATE embedders SET
        quantiles = (
            SELECT percentile_cont(%(shares)s::float8[]) WITHIN GROUP (ORDER BY similarity) FROM pairs),
        pairs = (SELECT count(*) FROM pairs),
        calibrated_chunks = (SELECT count(*) FROM chunk_embeddings WHERE embedder_id = %(embedder_id)s)
    WHERE id = %(embedder_id)s
"""
VECTORS_OF: Final = "SELECT count(*) FROM chunk_embeddings WHERE embedder_id = %s"


async def calibrate_embedder(source: Pool, embedder: StoredEmbedder, model: Embedder) -> None:
    """Measure the similarities of unrelated texts under this embedder, and store their quantiles.

    The built-in questions are compared with a sample of the stored chunks of all accounts, and with the
    built-in passages while chunks are few; only the quantiles are stored.

    Raises:
        RetrievalUnavailable, EmbeddingRejected: the model gave no vectors.
    """
    questions, passages = background()
    stored = int(await fetch_value(source, VECTORS_OF, (embedder.embedder_id,)))
    texts = (*questions, *(passages if stored < LEAST_SAMPLE else ()))
    vectors = await model.embed(texts, model=embedder.model, dimensions=embedder.asked_dimensions)
    values = {
        "embedder_id": embedder.embedder_id,
        "sample": SAMPLE,
        "questions": [vector_text(vector) for vector in vectors[: len(questions)]],
        "passages": [vector_text(vector) for vector in vectors[len(questions) :]],
        "shares": list(SHARES),
    }
    async with checkout(source) as connection:
        await connection.execute(BACKGROUND, values)


async def calibrate_when_grown(source: Pool, embedder: StoredEmbedder, model: Embedder) -> bool:
    """Calibrate when that was never done, or was done with less than a quarter of the vectors stored now."""
    stored = int(await fetch_value(source, VECTORS_OF, (embedder.embedder_id,)))
    if embedder.quantiles and (stored < 4 * embedder.calibrated_chunks or stored < LEAST_SAMPLE):
        return False
    await calibrate_embedder(source, embedder, model)
    return True
