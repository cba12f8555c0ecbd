"""The variables of the embedding model and of the document commands."""

from __future__ import annotations

from typing import Final

from pydantic import Field, SecretStr

from worker.settings.environment import HttpUrl
from worker.settings.servers import DatabaseSettings

OPENAI: Final = "https://api.openai.com/v1"
OPENAI_URL_DESCRIPTION: Final = (
    "OpenAI-compatible endpoint of the moderation API, and of embeddings by default."
)
OPENAI_KEY_DESCRIPTION: Final = "Key of OPENAI_BASE_URL; required unless OPENAI_MODERATION_ENABLED is false."


class EmbeddingSettings(DatabaseSettings):
    """The embedding model of documents and queries; without one, search is by words only."""

    embedding_model: str = Field(
        default="",
        alias="HUSHGATE_EMBEDDING_MODEL",
        description="Embedding model, such as text-embedding-3-small; empty for full text search only.",
    )
    embedding_base_url: HttpUrl | None = Field(
        default=None,
        alias="HUSHGATE_EMBEDDING_BASE_URL",
        description="OpenAI-compatible endpoint of embeddings; OPENAI_BASE_URL when not set.",
    )
    embedding_api_key: SecretStr | None = Field(
        default=None,
        alias="HUSHGATE_EMBEDDING_API_KEY",
        description="Key of HUSHGATE_EMBEDDING_BASE_URL; OPENAI_API_KEY when that is not set.",
    )
    embedding_dimensions: int = Field(
        default=0,
        ge=0,
        le=4000,
        alias="HUSHGATE_EMBEDDING_DIMENSIONS",
        description="Length of the vectors to request; 0: as the model has it.",
    )
    embedding_timeout_s: float = Field(
        default=5.0,
        gt=0,
        le=120,
        alias="HUSHGATE_EMBEDDING_TIMEOUT_S",
        description="Limit of embedding one query; after it the search continues by words only.",
    )


class DocumentSettings(EmbeddingSettings):
    """Settings of the document commands; unlike a worker they call no moderation API."""

    openai_base_url: HttpUrl = Field(
        default=OPENAI, alias="OPENAI_BASE_URL", description=OPENAI_URL_DESCRIPTION
    )
    openai_api_key: SecretStr | None = Field(
        default=None, alias="OPENAI_API_KEY", description=OPENAI_KEY_DESCRIPTION
    )
