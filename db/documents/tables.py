"""The tables of documents: chunks, embedding models and vectors."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB, TSVECTOR
from sqlalchemy.dialects.postgresql.base import ischema_names
from sqlalchemy.types import UserDefinedType

from db.columns import (
    EMPTY_JSON_LIST,
    EMPTY_LIST,
    EMPTY_OBJECT,
    NOW,
    ZERO,
    Timestamp,
    choice,
    index,
    key,
    required,
    table,
)


class HalfVector(UserDefinedType[str]):
    """pgvector's ``halfvec`` without a fixed length: 2 bytes a number."""

    cache_ok = True

    def get_col_spec(self, **_: object) -> str:
        """The name of the type."""
        return "halfvec"


ischema_names["halfvec"] = HalfVector  # for reflection

UNCOMPRESSED: Final = {"toast_tuple_target": 8160}
"""Rows of chunks are stored as they are: each test of their words would unpack them otherwise."""

documents: Final = table(
    "documents",
    "the sources of an account's replies",
    key("id", sa.BigInteger, sa.Identity()),
    required("user_id", sa.Text, comment="the account"),
    required("title", sa.Text),
    required("source", sa.Text, server_default="", comment="where it came from; at most one document each"),
    required("content_hash", sa.Text, comment="SHA-256 of title, content and chunking, hex"),
    required("metadata", JSONB, server_default=EMPTY_OBJECT, comment="labels, text to text"),
    required("created_at", Timestamp, server_default=NOW),
    required("format", sa.Text, server_default="text", comment="how it was read, such as pdf"),
    required("size_bytes", sa.BigInteger, server_default=ZERO, comment="of the uploaded file"),
    required(
        "notes", JSONB, server_default=EMPTY_JSON_LIST, comment="what its reader noticed, for its owner"
    ),
    required("pages", sa.Integer, server_default=ZERO, comment="pages or sheets; 0: the format has none"),
    sa.UniqueConstraint("user_id", "content_hash"),
    sa.UniqueConstraint("id", "user_id"),
    index("ix_documents_source", "user_id", "source", unique=True, where="source <> ''::text"),
)

document_files: Final = table(
    "document_files",
    "the bytes of documents as they came, for the people who compare them with their passages",
    key("document_id", sa.BigInteger),
    required("user_id", sa.Text, comment="repeated here so that every statement names its account"),
    required("data", sa.LargeBinary, comment="workers may not read them"),
    sa.ForeignKeyConstraint(
        ["document_id", "user_id"], ["documents.id", "documents.user_id"], ondelete="CASCADE"
    ),
)

chunks: Final = table(
    "chunks",
    "parts of documents, as they are searched",
    key("document_id", sa.BigInteger),
    key("number", sa.Integer, comment="from 1"),
    required("user_id", sa.Text, comment="repeated here so that every search names its account"),
    required("text", sa.Text),
    required("title", sa.Text, server_default="", comment="the document's title and headings"),
    required("start_char", sa.Integer, server_default=ZERO, comment="in the document's text"),
    required("end_char", sa.Integer, server_default=ZERO, comment="first after the chunk"),
    required(
        "lexemes",
        TSVECTOR,
        server_default=sa.text("''::tsvector"),
        comment="worker.documents.words of title and text, stemmed by hushgate_word_vector",
    ),
    required(
        "flags",
        sa.ARRAY(sa.Text),
        server_default=EMPTY_LIST,
        comment="rules that matched at upload; not retrieved until released",
    ),
    required("page", sa.Integer, server_default=ZERO, comment="page or sheet on which it starts, from 1"),
    sa.Column("released_at", Timestamp, comment="since when it is retrieved in spite of its flags"),
    sa.Column("released_by", sa.Text, comment="login, or command line"),
    sa.ForeignKeyConstraint(
        ["document_id", "user_id"], ["documents.id", "documents.user_id"], ondelete="CASCADE"
    ),
    index("ix_chunks_lexemes", "user_id", "lexemes", postgresql_using="gin"),
    postgresql_with=UNCOMPRESSED,
)

account_words: Final = table(
    "account_words",
    "word frequencies; updated by triggers on chunks",
    key("user_id", sa.Text),
    key("lexeme", sa.Text, comment="empty: all chunks of the account"),
    required("chunks", sa.BigInteger, comment="chunks of the account that contain it"),
    index(
        "ix_account_words_similar",
        "user_id",
        "lexeme",
        postgresql_using="gin",
        postgresql_ops={"lexeme": "gin_trgm_ops"},
    ),
)

embedders: Final = table(
    "embedders",
    "models whose vectors are stored; searches use the active one",
    key("id", sa.Integer, sa.Identity()),
    required("model", sa.Text, comment="its name in requests"),
    required("dimensions", sa.Integer, comment="numbers in a vector"),
    required("asked_dimensions", sa.Integer, comment="sent in requests; 0: not sent"),
    *choice("state", "building active retired", "at most one is active"),
    required("created_at", Timestamp, server_default=NOW),
    sa.Column("activated_at", Timestamp),
    sa.UniqueConstraint("model", "dimensions"),
    sa.CheckConstraint("dimensions BETWEEN 1 AND 4000", name="dimensions_indexable"),
    index("ix_embedders_active", "state", unique=True, where="state = 'active'::text"),
)

chunk_embeddings: Final = table(
    "chunk_embeddings",
    "one vector per chunk and embedder; HNSW indexes hnsw_<embedder> are built when needed",
    key("embedder_id", sa.ForeignKey("embedders.id")),
    key("document_id", sa.BigInteger),
    key("number", sa.Integer),
    required("user_id", sa.Text, comment="repeated here so that every search names its account"),
    required("embedding", HalfVector, comment="length 1; as many numbers as its embedder's dimensions"),
    sa.ForeignKeyConstraint(
        ["document_id", "number"], ["chunks.document_id", "chunks.number"], ondelete="CASCADE"
    ),
    index("ix_chunk_embeddings_account", "user_id", "embedder_id"),
    index("ix_chunk_embeddings_chunk", "document_id", "number"),
)
