"""Search by words: how often a chunk has them, in the language of the chunk, and words with typing errors.

The login of the review pages may add the first embedding model, with a document that needs it.

Law: as 0001. The previous release stores and searches with ``hushgate_lexemes``, which stays; chunks that it
stored are found as before, until their document is added again. It also reads the background similarities of
embedding models, so their columns stay until a later release drops them.
"""

from collections.abc import Sequence

from alembic import op

revision: str = "0083"
down_revision: str | Sequence[str] | None = "0081"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

LANGUAGES = (
    *("english", "danish", "dutch", "finnish", "french", "german", "hungarian", "italian", "norwegian"),
    *("portuguese", "russian", "spanish", "swedish", "turkish"),
)
"""Those for which Postgres has a stemmer and a list of stop words; English first: it wins a draw."""
NAMES = ", ".join(f"'pg_catalog.{name}_stem'" for name in LANGUAGES)
STEMMERS = f"ARRAY[{NAMES}]::regdictionary[]"

FIRST_MODEL = "model, dimensions, asked_dimensions, state, activated_at"
FORMER_COMMENTS = {
    "quantiles": "background similarities at worker.calibration.SHARES; null until calibrated",
    "pairs": "similarities measured",
    "calibrated_chunks": "stored chunks at calibration",
}

WORD_VECTOR = f"""
    CREATE FUNCTION hushgate_word_vector(words text[]) RETURNS tsvector
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
        WITH language AS MATERIALIZED (
            SELECT stemmer FROM (
                SELECT stemmer, place, count(*) AS stop_words
                FROM unnest({STEMMERS}) WITH ORDINALITY AS known (stemmer, place), unnest(words) AS word
                WHERE ts_lexize(stemmer, word) = '{{}}' GROUP BY stemmer, place
            ) AS counted WHERE place = 1 OR stop_words * 5 > cardinality(words)
            ORDER BY stop_words DESC, place LIMIT 1
        ), forms AS (
            SELECT form, least(place, 16383) AS place
            FROM unnest(words) WITH ORDINALITY AS given (word, place), LATERAL (
                SELECT unnest(ts_lexize('pg_catalog.english_stem', word))
                UNION SELECT unnest(ts_lexize((SELECT stemmer FROM language), word))
            ) AS stemmed (form)
        )
        SELECT coalesce(string_agg(quote_literal(form) || ':' || places, ' '), '')::tsvector
        FROM (SELECT form, string_agg(place::text, ',') AS places FROM forms GROUP BY form) AS placed
    $$
"""
WORD_FORMS = f"""
    CREATE FUNCTION hushgate_word_forms(word text) RETURNS text[]
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
        SELECT CASE WHEN ts_lexize('pg_catalog.english_stem', word) = '{{}}' THEN '{{}}' ELSE ARRAY(
            SELECT DISTINCT form FROM unnest({STEMMERS}) AS stemmer, unnest(ts_lexize(stemmer, word)) AS form
        ) END
    $$
"""


def upgrade() -> None:
    """Create the functions and the index of similar words; unused columns say so."""
    op.execute(WORD_VECTOR)
    op.execute(WORD_FORMS)
    op.execute("GRANT EXECUTE ON FUNCTION hushgate_word_vector TO hushgate_reviewer")
    op.execute("GRANT EXECUTE ON FUNCTION hushgate_word_forms TO hushgate_worker, hushgate_reviewer")
    op.execute(
        "CREATE INDEX ix_account_words_similar ON account_words USING gin (user_id, lexeme gin_trgm_ops)"
    )
    op.execute(
        "ALTER TABLE chunks SET (toast_tuple_target = 8160)"
    )  # uncompressed, or each test would unpack it
    _comment("hushgate_word_vector")
    op.execute("GRANT UPDATE (created_at) ON embedders TO hushgate_reviewer")  # a row lock needs some column
    op.execute(f"GRANT INSERT ({FIRST_MODEL}) ON embedders TO hushgate_reviewer")
    for column in FORMER_COMMENTS:
        op.alter_column("embedders", column, comment="unused; the previous release reads it")


def downgrade() -> None:
    """The previous release's; stored words have forms that it does not look for."""
    for column, comment in FORMER_COMMENTS.items():
        op.alter_column("embedders", column, comment=comment)
    op.execute(f"REVOKE INSERT ({FIRST_MODEL}) ON embedders FROM hushgate_reviewer")
    op.execute("REVOKE UPDATE (created_at) ON embedders FROM hushgate_reviewer")
    _comment("hushgate_lexemes")
    op.execute("ALTER TABLE chunks RESET (toast_tuple_target)")
    op.execute("DROP INDEX ix_account_words_similar")
    op.execute("DROP FUNCTION hushgate_word_vector")
    op.execute("DROP FUNCTION hushgate_word_forms")


def _comment(function: str) -> None:
    op.alter_column(
        "chunks", "lexemes", comment=f"worker.documents.words of title and text, stemmed by {function}"
    )
