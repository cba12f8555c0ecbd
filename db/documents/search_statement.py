"""The search over an account's chunks as SQL, by words and by vector; every part names the account."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from db.documents.embedding_models import StoredEmbedder

PARAMETER: Final = re.compile(r"%\((\w+)\)s")
TYPES: Final = {
    "user_id": "text",
    "words": "text[]",
    "boosts": "float8[]",
    "vectors": "text[]",
    "labels": "jsonb",
    "candidates": "integer",
    "most": "integer",
    "min_similarity": "float8",
}
"""The parameters of a search and their Postgres types."""
RANK_CONSTANT: Final = 10
"""Of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009); see ``docs/retrieval.md``."""
VECTOR_WEIGHT: Final = 2.0
"""Weight of a rank by vector; a rank by words has 1. Measured as well."""
MOST_FORMS: Final = 64
"""Most forms of a query's words: those with the most weight that the account's chunks contain."""
MOST_CHUNKS: Final = 3000
"""Most chunks that are weighed: those with the rarest words; other words only add weight."""
SIMILAR: Final = 0.4
"""Least similarity (pg_trgm) of a stored word that replaces a word which no chunk contains."""
SIMILAR_WEIGHT: Final = 0.6
LEAST_SIMILAR_CHARS: Final = 5
MOST_SIMILAR: Final = 8
"""Most words of a query that are replaced, the longest ones."""
LABELLED: Final = """
              AND EXISTS (SELECT FROM documents d WHERE d.user_id = %(user_id)s
                          AND d.id = {alias}.document_id AND d.metadata @> %(labels)s)"""
IDF: Final = "ln(1 + (stored - chunks + 0.5) / (chunks + 0.5))"
BY_WORDS: Final = """
    WITH account AS MATERIALIZED (
        SELECT coalesce((SELECT w.chunks FROM account_words w
                         WHERE w.user_id = %(user_id)s AND w.lexeme = ''), 0) AS stored
    ), asked AS MATERIALIZED (
        SELECT place, word, boost, hushgate_word_forms(word) AS forms
        FROM unnest(%(words)s::text[], %(boosts)s::float8[]) WITH ORDINALITY AS given (word, boost, place)
    ), present AS MATERIALIZED (
        SELECT place, word, boost, lexeme, least(coalesce(chunks, 0), stored)::float8 AS chunks, stored
        FROM account CROSS JOIN asked LEFT JOIN LATERAL (
            SELECT w.lexeme, w.chunks FROM account_words w
            WHERE w.user_id = %(user_id)s AND w.lexeme = ANY(forms)
        ) AS known ON true WHERE forms <> '{{}}'
    ), replaced AS MATERIALIZED (
        SELECT place, boost, similar_word.lexeme, similar_word.chunks, stored
        FROM (
            SELECT place, word, boost, stored FROM present
            WHERE lexeme IS NULL AND length(word) >= {least_similar_chars} AND word !~ '[0-9]'
            ORDER BY length(word) DESC, place LIMIT {most_similar}
        ) AS unknown CROSS JOIN LATERAL (
            SELECT w.lexeme, w.chunks::float8 FROM account_words w
            WHERE w.user_id = %(user_id)s AND w.lexeme %% unknown.word
              AND similarity(w.lexeme, unknown.word) >= {similar}
            ORDER BY similarity(w.lexeme, unknown.word) DESC, w.lexeme LIMIT 3
        ) AS similar_word
    ), query_words AS MATERIALIZED (
        SELECT place, boost, quote_literal(lexeme)::tsquery AS test, chunks, factor * {idf} AS idf
        FROM (
            SELECT place, boost, lexeme, chunks, stored, 1.0 AS factor FROM present WHERE lexeme <> ''
            UNION ALL SELECT place, boost, lexeme, chunks, stored, {similar_weight} FROM replaced
        ) AS found ORDER BY boost * factor * {idf} DESC, place, lexeme LIMIT {most_forms}
    ), rare AS MATERIALIZED (
        SELECT test FROM (
            SELECT test, sum(chunks) OVER upwards AS upto, row_number() OVER upwards AS place
            FROM query_words WINDOW upwards AS (ORDER BY chunks, test)
        ) AS ordered WHERE upto <= {most_chunks} OR place = 1
    ), held AS MATERIALIZED (
        SELECT c.document_id, c.number, c.lexemes FROM chunks c
        WHERE c.user_id = %(user_id)s AND (c.flags = '{{}}' OR c.released_at IS NOT NULL)
          AND c.lexemes @@ (SELECT string_agg(test::text, ' | ')::tsquery FROM rare){labelled_c}
        LIMIT {most_chunks}
    ), hits AS MATERIALIZED (
        SELECT document_id, number, length(lexemes) AS size,
               max(boost * idf * ts_rank(lexemes, test)) AS score, max(idf) FILTER (WHERE boost >= 1) AS own
        FROM held JOIN query_words ON lexemes @@ test GROUP BY document_id, number, size, place
    ), worded AS MATERIALIZED (
        SELECT document_id, number, least(1, own / whole) AS share,
               row_number() OVER (ORDER BY score DESC, size, document_id, number) AS place
        FROM (
            SELECT document_id, number, size, sum(score) AS score, coalesce(sum(own), 0) AS own
            FROM hits GROUP BY document_id, number, size
            ORDER BY score DESC, size, document_id, number LIMIT %(candidates)s
        ) AS best CROSS JOIN (
            SELECT sum(weight) AS whole FROM (
                SELECT max({idf}) AS weight FROM present WHERE boost >= 1 GROUP BY place
            ) AS weights
        ) AS own_words
    )"""
EXACT: Final = """, near AS MATERIALIZED (
        SELECT document_id, number, min(distance) AS distance
        FROM unnest(%(vectors)s::text[]::halfvec[]) AS asked_for (vector) CROSS JOIN LATERAL (
            SELECT v.document_id, v.number, v.embedding <=> vector AS distance
            FROM chunk_embeddings v
            WHERE v.user_id = %(user_id)s AND v.embedder_id = {embedder_id}{labelled_v}
            ORDER BY distance LIMIT %(candidates)s
        ) AS nearest GROUP BY document_id, number
    )"""
APPROXIMATE: Final = """, near AS MATERIALIZED (
        SELECT document_id, number, min(distance) AS distance
        FROM unnest(%(vectors)s::text[]::halfvec[]) AS asked_for (vector) CROSS JOIN LATERAL (
            SELECT v.document_id, v.number,
                   v.embedding::halfvec({dimensions}) <=> vector::halfvec({dimensions}) AS distance
            FROM chunk_embeddings v
            WHERE v.user_id = %(user_id)s AND v.embedder_id = {embedder_id}{labelled_v}
            ORDER BY v.embedding::halfvec({dimensions}) <=> vector::halfvec({dimensions})
            LIMIT %(candidates)s
        ) AS nearest GROUP BY document_id, number
    )"""
FUSED: Final = """, placed AS MATERIALIZED (
        SELECT document_id, number, row_number() OVER (ORDER BY distance, document_id, number) AS place
        FROM near ORDER BY place LIMIT %(candidates)s
    ), fused AS MATERIALIZED (
        SELECT document_id, number, worded.share,
               worded.place IS NOT NULL AS by_words, placed.place IS NOT NULL AS by_vector,
               coalesce(1.0 / ({rank_constant} + worded.place), 0)
               + coalesce({vector_weight} / ({rank_constant} + placed.place), 0) AS score
        FROM worded FULL JOIN placed USING (document_id, number)
    ), scored AS MATERIALIZED (
        SELECT fused.*, coalesce(
                   (SELECT greatest(0, 1 - min(v.embedding <=> vector))
                    FROM unnest(%(vectors)s::text[]::halfvec[]) AS asked_for (vector)), fused.share
               ) AS similarity
        FROM fused LEFT JOIN chunk_embeddings v
            ON v.user_id = %(user_id)s AND v.embedder_id = {embedder_id}
           AND v.document_id = fused.document_id AND v.number = fused.number
    )"""
WORDS_ONLY: Final = """, scored AS MATERIALIZED (
        SELECT document_id, number, share AS similarity, -place AS score, true AS by_words, false AS by_vector
        FROM worded
    )"""
PASSAGES: Final = """
    SELECT s.document_id, s.number, coalesce(nullif(c.title, ''), d.title), c.text, d.metadata,
           s.similarity, s.by_words, s.by_vector, c.flags, row_number() OVER best AS place
    FROM scored s
    JOIN chunks c ON c.user_id = %(user_id)s AND c.document_id = s.document_id AND c.number = s.number
    JOIN documents d ON d.user_id = %(user_id)s AND d.id = s.document_id
    WHERE s.similarity >= %(min_similarity)s AND (c.flags = '{{}}' OR c.released_at IS NOT NULL)
    WINDOW best AS (ORDER BY s.score DESC, s.similarity DESC, s.document_id, s.number)
    ORDER BY place LIMIT %(most)s
"""


def search_statement(embedder: StoredEmbedder | None, *, exact: bool, labelled: bool) -> str:
    """The search as SQL; embedder and length are literals, which a partial index requires."""
    parts = (BY_WORDS, *((EXACT if exact else APPROXIMATE, FUSED) if embedder else (WORDS_ONLY,)), PASSAGES)
    return "".join(parts).format(
        labelled_c=LABELLED.format(alias="c") if labelled else "",
        labelled_v=LABELLED.format(alias="v") if labelled else "",
        embedder_id=embedder.embedder_id if embedder else 0,
        dimensions=embedder.dimensions if embedder else 0,
        rank_constant=RANK_CONSTANT,
        vector_weight=VECTOR_WEIGHT,
        most_forms=MOST_FORMS,
        most_chunks=MOST_CHUNKS,
        similar=SIMILAR,
        similar_weight=SIMILAR_WEIGHT,
        least_similar_chars=LEAST_SIMILAR_CHARS,
        most_similar=MOST_SIMILAR,
        idf=IDF,
    )


@lru_cache(maxsize=64)
def searches_statement(embedder: StoredEmbedder | None, *, labelled: bool) -> str:
    """Several exact searches; parameter ``$1`` is a JSON array with an object of values for each.

    Each row has the place of its search in the array, from 1, before the columns of ``search_statement``. To
    send each value as a parameter would take longer than to search a small account.
    """
    one = search_statement(embedder, exact=True, labelled=labelled).replace("%%", "%")
    of_row = PARAMETER.sub(lambda match: f"search.{match[1]}", one)
    columns = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
    return f"""
    SELECT search.place, found.*
    FROM ROWS FROM (jsonb_to_recordset($1::jsonb) AS ({columns})) WITH ORDINALITY
        AS search ({", ".join(TYPES)}, place)
    CROSS JOIN LATERAL ({of_row}) AS found ORDER BY search.place, found.place
    """
