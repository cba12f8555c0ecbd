"""The search over an account's chunks as SQL, by words and by vector; every part names the account."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from db.documents.embedding_models import StoredEmbedder

PARAMETER: Final = re.compile(r"%\((\w+)\)s")
RANK_CONSTANT: Final = 60
"""Of reciprocal rank fusion: Cormack, Clarke and Büttcher, SIGIR 2009."""
MOST_WORDS: Final = 32
"""Most words of a query: the rarest that the account's chunks contain."""
MOST_CHUNKS: Final = 3000
"""Most chunks that are weighed: those with the rarest words; other words only add weight."""
LABELLED: Final = """
              AND EXISTS (SELECT FROM documents d WHERE d.user_id = %(user_id)s
                          AND d.id = {alias}.document_id AND d.metadata @> %(labels)s)"""
BY_WORDS: Final = """
    WITH query_words AS MATERIALIZED (
        SELECT word, quote_literal(word)::tsquery AS test, coalesce(w.chunks, 0) AS chunks,
               ln(1 + greatest(1, total.chunks)::float8 / greatest(1, coalesce(w.chunks, 0))) AS weight
        FROM unnest(hushgate_lexemes(%(words)s)) AS word
        LEFT JOIN account_words w ON w.user_id = %(user_id)s AND w.lexeme = word
        LEFT JOIN account_words total ON total.user_id = %(user_id)s AND total.lexeme = ''
        ORDER BY w.chunks NULLS LAST, word LIMIT {most_words}
    ), rare AS MATERIALIZED (
        SELECT test FROM (
            SELECT test, chunks, sum(chunks) OVER upwards AS upto, row_number() OVER upwards AS place
            FROM query_words WHERE chunks > 0 WINDOW upwards AS (ORDER BY chunks, word)
        ) AS ordered WHERE upto <= {most_chunks} OR place = 1
    ), held AS MATERIALIZED (
        SELECT c.document_id, c.number, c.lexemes FROM chunks c
        WHERE c.user_id = %(user_id)s AND (c.flags = '{{}}' OR c.released_at IS NOT NULL)
          AND c.lexemes @@ (SELECT string_agg(test::text, ' | ')::tsquery FROM rare){labelled_c}
        LIMIT {most_chunks}
    ), hits AS MATERIALIZED (
        SELECT document_id, number, length(lexemes) AS size, weight
        FROM held JOIN query_words ON lexemes @@ test
    ), worded AS MATERIALIZED (
        SELECT document_id, number, share,
               row_number() OVER (ORDER BY share DESC, size, document_id, number) AS place
        FROM (
            SELECT document_id, number, size,
                   sum(weight) / (SELECT sum(weight) FROM query_words) AS share
            FROM hits GROUP BY document_id, number, size
            ORDER BY share DESC, size, document_id, number LIMIT %(candidates)s
        ) AS best
    )"""
EXACT: Final = """, near AS MATERIALIZED (
        SELECT v.document_id, v.number, v.embedding <=> %(vector)s::halfvec AS distance
        FROM chunk_embeddings v
        WHERE v.user_id = %(user_id)s AND v.embedder_id = {embedder_id}{labelled_v}
        ORDER BY distance LIMIT %(candidates)s
    )"""
APPROXIMATE: Final = """, near AS MATERIALIZED (
        SELECT v.document_id, v.number,
               v.embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions}) AS distance
        FROM chunk_embeddings v
        WHERE v.user_id = %(user_id)s AND v.embedder_id = {embedder_id}{labelled_v}
        ORDER BY v.embedding::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions})
        LIMIT %(candidates)s
    )"""
FUSED: Final = """, placed AS MATERIALIZED (
        SELECT document_id, number, row_number() OVER (ORDER BY distance, document_id, number) AS place
        FROM near
    ), fused AS MATERIALIZED (
        SELECT document_id, number, worded.share,
               worded.place IS NOT NULL AS by_words, placed.place IS NOT NULL AS by_vector,
               coalesce(1.0 / ({rank_constant} + worded.place), 0)
               + coalesce(1.0 / ({rank_constant} + placed.place), 0) AS score
        FROM worded FULL JOIN placed USING (document_id, number)
    ), scored AS MATERIALIZED (
        SELECT fused.*, v.embedding IS NOT NULL AS measured,
               coalesce(greatest(0, 1 - (v.embedding <=> %(vector)s::halfvec)), fused.share) AS similarity
        FROM fused LEFT JOIN chunk_embeddings v
            ON v.user_id = %(user_id)s AND v.embedder_id = {embedder_id}
           AND v.document_id = fused.document_id AND v.number = fused.number
    )"""
WORDS_ONLY: Final = """, scored AS MATERIALIZED (
        SELECT document_id, number, share AS similarity, share AS score,
               true AS by_words, false AS by_vector, false AS measured
        FROM worded
    )"""
PASSAGES: Final = """
    SELECT s.document_id, s.number, coalesce(nullif(c.title, ''), d.title), c.text, d.metadata,
           s.similarity, s.measured, s.by_words, s.by_vector, c.flags
    FROM scored s
    JOIN chunks c ON c.user_id = %(user_id)s AND c.document_id = s.document_id AND c.number = s.number
    JOIN documents d ON d.user_id = %(user_id)s AND d.id = s.document_id
    WHERE s.similarity >= %(min_similarity)s AND (c.flags = '{{}}' OR c.released_at IS NOT NULL)
    ORDER BY s.score DESC, s.similarity DESC, s.document_id, s.number LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchStatement:
    """A search as SQL with the parameters ``$1``, ``$2``, ..., and the names of their values."""

    text: str
    parameters: tuple[str, ...]


def search_statement(embedder: StoredEmbedder | None, *, exact: bool, labelled: bool) -> str:
    """The search as SQL; embedder and length are literals, which a partial index requires."""
    parts = (BY_WORDS, *((EXACT if exact else APPROXIMATE, FUSED) if embedder else (WORDS_ONLY,)), PASSAGES)
    return "".join(parts).format(
        labelled_c=LABELLED.format(alias="c") if labelled else "",
        labelled_v=LABELLED.format(alias="v") if labelled else "",
        embedder_id=embedder.embedder_id if embedder else 0,
        dimensions=embedder.dimensions if embedder else 0,
        rank_constant=RANK_CONSTANT,
        most_words=MOST_WORDS,
        most_chunks=MOST_CHUNKS,
    )


@lru_cache(maxsize=64)
def raw_search(embedder: StoredEmbedder | None, *, exact: bool, labelled: bool) -> SearchStatement:
    """``search_statement`` for ``AsyncRawCursor``, which does not look for parameters at every search."""
    named = search_statement(embedder, exact=exact, labelled=labelled)
    names = tuple(dict.fromkeys(PARAMETER.findall(named)))
    text = PARAMETER.sub(lambda match: f"${names.index(match[1]) + 1}", named)
    return SearchStatement(text=text, parameters=names)
