"""Documents for hybrid search: labels, folded words, and vectors of several embedders.

Law: as 0001. The one column dropped here (``chunks.words``) was never part of a release.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0002"
down_revision: str | Sequence[str] | None = "0001"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

NEEDED = """
    DO $$
    BEGIN
        IF NOT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector') THEN
            RAISE EXCEPTION 'this Postgres has no pgvector: install pgvector 0.8 or later beside the server';
        END IF;
    END $$
"""
LEXEMES = """
    CREATE FUNCTION hushgate_lexemes(words text[]) RETURNS text[]
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
        SELECT coalesce(array_agg(DISTINCT lexeme), '{}')
        FROM unnest(words) AS word, unnest(ts_lexize('pg_catalog.english_stem', word)) AS lexeme
    $$
"""

COUNTED = """
    CREATE FUNCTION hushgate_count_words() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'INSERT' THEN
            INSERT INTO account_words AS known (user_id, lexeme, chunks)
            SELECT user_id, lexeme, count(*) FROM changed,
                LATERAL (SELECT '' UNION ALL SELECT unnest(tsvector_to_array(lexemes))) AS held (lexeme)
            GROUP BY user_id, lexeme ORDER BY user_id, lexeme
            ON CONFLICT (user_id, lexeme) DO UPDATE SET chunks = known.chunks + excluded.chunks;
        ELSE
            UPDATE account_words AS known SET chunks = known.chunks - gone.chunks
            FROM (
                SELECT user_id, lexeme, count(*) AS chunks FROM changed,
                    LATERAL (SELECT '' UNION ALL SELECT unnest(tsvector_to_array(lexemes))) AS held (lexeme)
                GROUP BY user_id, lexeme
            ) AS gone
            WHERE known.user_id = gone.user_id AND known.lexeme = gone.lexeme;
            DELETE FROM account_words AS known USING (SELECT DISTINCT user_id FROM changed) AS of
            WHERE known.user_id = of.user_id AND known.chunks <= 0;
        END IF;
        RETURN NULL;
    END $$
"""
TRIGGERS = (
    """
    CREATE TRIGGER count_added AFTER INSERT ON chunks REFERENCING NEW TABLE AS changed
        FOR EACH STATEMENT EXECUTE FUNCTION hushgate_count_words()
    """,
    """
    CREATE TRIGGER count_removed AFTER DELETE ON chunks REFERENCING OLD TABLE AS changed
        FOR EACH STATEMENT EXECUTE FUNCTION hushgate_count_words()
    """,
)


def upgrade() -> None:
    """Extend documents and chunks, create embedders and their vectors."""
    op.execute(NEEDED)
    op.execute("CREATE EXTENSION IF NOT EXISTS vector")
    op.execute("CREATE EXTENSION IF NOT EXISTS btree_gin")
    op.execute(LEXEMES)
    _documents()
    _chunks()
    _embedders()
    _words()
    op.execute("GRANT SELECT ON embedders, chunk_embeddings, account_words TO hushgate_worker")
    op.execute("GRANT EXECUTE ON FUNCTION hushgate_lexemes TO hushgate_worker")


def _documents() -> None:
    op.add_column(
        "documents",
        sa.Column(
            "format", sa.Text(), server_default="text", nullable=False, comment="markdown, html, text or pdf"
        ),
    )
    op.add_column(
        "documents",
        sa.Column(
            "size_bytes",
            sa.BigInteger(),
            server_default=sa.text("0"),
            nullable=False,
            comment="as it was read",
        ),
    )
    comments = {
        "user_id": "the account",
        "source": "where it came from; one document each",
        "content_hash": "SHA-256 of title, content and way of cutting, hex",
    }
    for column, comment in comments.items():
        op.alter_column("documents", column, comment=comment)
    op.create_unique_constraint(op.f("uq_documents_id_user_id"), "documents", ["id", "user_id"])
    op.create_index(
        "ix_documents_source",
        "documents",
        ["user_id", "source"],
        unique=True,
        postgresql_where=sa.text("source <> ''::text"),
    )


def _chunks() -> None:
    op.add_column(
        "chunks",
        sa.Column(
            "title", sa.Text(), server_default="", nullable=False, comment="the document's title and headings"
        ),
    )
    op.add_column(
        "chunks",
        sa.Column(
            "start_char",
            sa.Integer(),
            server_default=sa.text("0"),
            nullable=False,
            comment="in the document's text",
        ),
    )
    op.add_column(
        "chunks",
        sa.Column(
            "end_char",
            sa.Integer(),
            server_default=sa.text("0"),
            nullable=False,
            comment="first after the chunk",
        ),
    )
    op.add_column(
        "chunks",
        sa.Column(
            "lexemes",
            sa.dialects.postgresql.TSVECTOR(),
            server_default=sa.text("''::tsvector"),
            nullable=False,
            comment="worker.documents.words of title and text, stemmed by hushgate_lexemes",
        ),
    )
    op.execute(
        "UPDATE chunks c SET title = d.title, end_char = length(c.text),"
        " lexemes = array_to_tsvector(hushgate_lexemes(tsvector_to_array(c.words)))"
        " FROM documents d WHERE d.id = c.document_id"
    )
    op.drop_index("ix_chunks_words", table_name="chunks")
    op.drop_index("ix_chunks_user_id", table_name="chunks")
    op.drop_column("chunks", "words")
    op.create_index("ix_chunks_lexemes", "chunks", ["user_id", "lexemes"], postgresql_using="gin")
    op.drop_constraint(op.f("fk_chunks_document_id"), "chunks", type_="foreignkey")
    op.create_foreign_key(
        op.f("fk_chunks_document_id_user_id"),
        "chunks",
        "documents",
        ["document_id", "user_id"],
        ["id", "user_id"],
        ondelete="CASCADE",
    )


def _words() -> None:
    op.create_table(
        "account_words",
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column(
            "lexeme", sa.Text(), nullable=False, comment="the empty one counts all chunks of the account"
        ),
        sa.Column(
            "chunks", sa.BigInteger(), nullable=False, comment="how many of the account's chunks hold it"
        ),
        sa.PrimaryKeyConstraint("user_id", "lexeme", name=op.f("pk_account_words")),
        comment="how rare a word is; kept by triggers on chunks",
    )
    op.execute(
        "INSERT INTO account_words (user_id, lexeme, chunks) SELECT user_id, lexeme, count(*) FROM chunks,"
        " LATERAL (SELECT '' UNION ALL SELECT unnest(tsvector_to_array(lexemes))) AS held (lexeme)"
        " GROUP BY user_id, lexeme"
    )
    op.execute(COUNTED)
    for trigger in TRIGGERS:
        op.execute(trigger)


def _embedders() -> None:
    op.create_table(
        "embedders",
        sa.Column("id", sa.Integer(), sa.Identity(always=False), nullable=False),
        sa.Column("model", sa.Text(), nullable=False, comment="as the endpoint is asked for it"),
        sa.Column("dimensions", sa.Integer(), nullable=False, comment="numbers in a vector"),
        sa.Column("asked_dimensions", sa.Integer(), nullable=False, comment="what requests say; 0: nothing"),
        sa.Column("state", sa.Text(), nullable=False, comment="building, active (at most one) or retired"),
        sa.Column(
            "quantiles",
            sa.ARRAY(sa.DOUBLE_PRECISION()),
            nullable=True,
            comment="background similarities at worker.calibration.SHARES; null until calibrated",
        ),
        sa.Column(
            "pairs",
            sa.Integer(),
            server_default=sa.text("0"),
            nullable=False,
            comment="similarities measured",
        ),
        sa.Column(
            "calibrated_chunks",
            sa.BigInteger(),
            server_default=sa.text("0"),
            nullable=False,
            comment="stored then",
        ),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("activated_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "state IN ('building', 'active', 'retired')", name=op.f("ck_embedders_state_known")
        ),
        sa.CheckConstraint("dimensions BETWEEN 1 AND 4000", name=op.f("ck_embedders_dimensions_indexable")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_embedders")),
        sa.UniqueConstraint("model", "dimensions", name=op.f("uq_embedders_model_dimensions")),
        comment="models whose vectors are stored; searches use the active one",
    )
    op.create_index(
        "ix_embedders_active",
        "embedders",
        ["state"],
        unique=True,
        postgresql_where=sa.text("state = 'active'::text"),
    )
    op.execute("""
        CREATE TABLE chunk_embeddings (
            embedder_id integer NOT NULL CONSTRAINT fk_chunk_embeddings_embedder_id REFERENCES embedders (id),
            document_id bigint NOT NULL,
            number integer NOT NULL,
            user_id text NOT NULL,
            embedding halfvec STORAGE PLAIN NOT NULL,
            CONSTRAINT pk_chunk_embeddings PRIMARY KEY (embedder_id, document_id, number),
            CONSTRAINT fk_chunk_embeddings_document_id_number FOREIGN KEY (document_id, number)
                REFERENCES chunks (document_id, number) ON DELETE CASCADE
        )
    """)
    op.create_index("ix_chunk_embeddings_account", "chunk_embeddings", ["user_id", "embedder_id"])
    op.create_index("ix_chunk_embeddings_chunk", "chunk_embeddings", ["document_id", "number"])
    for target, comment in (
        (
            "TABLE chunk_embeddings",
            "one vector per chunk and embedder; HNSW indexes hnsw_<embedder> are made as they grow",
        ),
        ("COLUMN chunk_embeddings.user_id", "repeated here so that every search names its account"),
        ("COLUMN chunk_embeddings.embedding", "length 1; as many numbers as its embedder says"),
    ):
        op.execute(f"COMMENT ON {target} IS '{comment}'")


def downgrade() -> None:
    """Search by words only: vectors are lost, documents stay."""
    op.execute("DROP TRIGGER count_added ON chunks")
    op.execute("DROP TRIGGER count_removed ON chunks")
    op.execute("DROP FUNCTION hushgate_count_words")
    op.drop_table("account_words")
    op.drop_table("chunk_embeddings")
    op.drop_table("embedders")
    op.drop_constraint(op.f("fk_chunks_document_id_user_id"), "chunks", type_="foreignkey")
    op.create_foreign_key(
        op.f("fk_chunks_document_id"), "chunks", "documents", ["document_id"], ["id"], ondelete="CASCADE"
    )
    op.drop_index("ix_chunks_lexemes", table_name="chunks")
    op.execute(
        "ALTER TABLE chunks ADD words tsvector NOT NULL GENERATED ALWAYS AS (to_tsvector('simple', text)) STORED"
    )
    op.create_index("ix_chunks_words", "chunks", ["words"], postgresql_using="gin")
    op.create_index("ix_chunks_user_id", "chunks", ["user_id"])
    for column in ("title", "start_char", "end_char", "lexemes"):
        op.drop_column("chunks", column)
    op.drop_index("ix_documents_source", table_name="documents")
    op.drop_constraint(op.f("uq_documents_id_user_id"), "documents", type_="unique")
    for column in ("format", "size_bytes"):
        op.drop_column("documents", column)
    for column in ("user_id", "source"):
        op.alter_column("documents", column, comment=None)
    op.alter_column("documents", "content_hash", comment="SHA-256 of the content, hex")
    op.execute("DROP FUNCTION hushgate_lexemes")
    op.execute("DROP EXTENSION btree_gin")
    op.execute("DROP EXTENSION vector")
