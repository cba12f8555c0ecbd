"""The variables of the embedding model and of the document commands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from pydantic import Field, SecretStr

from worker.settings.environment import HttpUrl
from worker.settings.servers import DatabaseSettings

OPENAI: Final = "https://api.openai.com/v1"
OPENROUTER: Final = "https://openrouter.ai/api/v1"
EMBEDDINGS_OFF: Final = "off"
DEFAULT_EMBEDDING_MODELS: Final = {
    OPENAI: "text-embedding-3-small",
    OPENROUTER: "openai/text-embedding-3-small",
}
"""By endpoint, where no model is set; another server is asked which one it has."""
OPENAI_URL_DESCRIPTION: Final = (
    "OpenAI-compatible endpoint of the moderation API, and of embeddings by default."
)
OPENAI_KEY_DESCRIPTION: Final = "Key of OPENAI_BASE_URL; required unless OPENAI_MODERATION_ENABLED is false."
OPENROUTER_URL_DESCRIPTION: Final = (
    "OpenAI-compatible endpoint of the language model: OpenRouter, vLLM, Ollama."
)
OPENROUTER_KEY_DESCRIPTION: Final = (
    "Key of the language model's endpoint; required unless OPENROUTER_BASE_URL is set."
)


class EmbeddingSettings(DatabaseSettings):
    """The embedding model of documents and queries; where none answers, search is by words only."""

    embedding_model: str = Field(
        default="",
        alias="HUSHGATE_EMBEDDING_MODEL",
        description="Embedding model; empty: text-embedding-3-small of OpenAI, or what another server offers;"
        " off: search by words only.",
    )
    embedding_base_url: HttpUrl | None = Field(
        default=None,
        alias="HUSHGATE_EMBEDDING_BASE_URL",
        description="OpenAI-compatible endpoint of embeddings; when not set OPENAI_BASE_URL, or, without"
        " OPENAI_API_KEY, OPENROUTER_BASE_URL.",
    )
    embedding_api_key: SecretStr | None = Field(
        default=None,
        alias="HUSHGATE_EMBEDDING_API_KEY",
        description="Key of HUSHGATE_EMBEDDING_BASE_URL; when that is not set, the key of the endpoint used.",
    )
    embedding_dimensions: int = Field(
        default=0,
        ge=0,
        le=4000,
        alias="HUSHGATE_EMBEDDING_DIMENSIONS",
        description="Length of the vectors to request; 0: as the model has it.",
    )


class DocumentSettings(EmbeddingSettings):
    """Settings of the document commands; unlike a worker they call no moderation API."""

    openai_base_url: HttpUrl = Field(
        default=OPENAI, alias="OPENAI_BASE_URL", description=OPENAI_URL_DESCRIPTION
    )
    openai_api_key: SecretStr | None = Field(
        default=None, alias="OPENAI_API_KEY", description=OPENAI_KEY_DESCRIPTION
    )
    openrouter_base_url: HttpUrl = Field(
        default=OPENROUTER, alias="OPENROUTER_BASE_URL", description=OPENROUTER_URL_DESCRIPTION
    )
    openrouter_api_key: SecretStr | None = Field(
        default=None, alias="OPENROUTER_API_KEY", description=OPENROUTER_KEY_DESCRIPTION
    )


class EmbeddingVariables(Protocol):
    """The settings that say where embeddings come from."""

    @property
    def embedding_model(self) -> str:
        """HUSHGATE_EMBEDDING_MODEL."""
        ...

    @property
    def embedding_base_url(self) -> str | None:
        """HUSHGATE_EMBEDDING_BASE_URL."""
        ...

    @property
    def embedding_api_key(self) -> SecretStr | None:
        """HUSHGATE_EMBEDDING_API_KEY."""
        ...

    @property
    def openai_base_url(self) -> str:
        """OPENAI_BASE_URL."""
        ...

    @property
    def openai_api_key(self) -> SecretStr | None:
        """OPENAI_API_KEY."""
        ...

    @property
    def openrouter_base_url(self) -> str:
        """OPENROUTER_BASE_URL."""
        ...

    @property
    def openrouter_api_key(self) -> SecretStr | None:
        """OPENROUTER_API_KEY."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingEndpoint:
    """The endpoint of embeddings.

    Attributes:
        variable: the variable that holds the URL.
        key_variable: the variable that holds the key.
        model: as the settings name it; empty: none is named.
    """

    variable: str
    url: str
    key_variable: str
    key: str | None
    model: str

    @property
    def default_model(self) -> str:
        """The model of a well-known server when none is named; empty where the server must be asked."""
        return DEFAULT_EMBEDDING_MODELS.get(self.url.rstrip("/"), "")


def embedding_endpoint(settings: EmbeddingVariables) -> EmbeddingEndpoint | None:
    """Where embeddings come from; None when they are switched off, or no endpoint has a key.

    A key is sent to its own endpoint only.
    """
    model = settings.embedding_model
    if model == EMBEDDINGS_OFF:
        return None
    if settings.embedding_base_url is not None:
        place = ("HUSHGATE_EMBEDDING_BASE_URL", settings.embedding_base_url)
        own_key: tuple[str, SecretStr | None] = ("HUSHGATE_EMBEDDING_API_KEY", settings.embedding_api_key)
    elif model or settings.openai_api_key or settings.openai_base_url.rstrip("/") != OPENAI:
        place = ("OPENAI_BASE_URL", settings.openai_base_url)
        own_key = ("OPENAI_API_KEY", settings.openai_api_key)
    elif settings.openrouter_api_key or settings.openrouter_base_url.rstrip("/") != OPENROUTER:
        place = ("OPENROUTER_BASE_URL", settings.openrouter_base_url)
        own_key = ("OPENROUTER_API_KEY", settings.openrouter_api_key)
    else:
        return None
    variable, url = place
    key_variable, key = own_key
    if settings.embedding_api_key is not None:
        key_variable, key = "HUSHGATE_EMBEDDING_API_KEY", settings.embedding_api_key
    secret = key.get_secret_value() if key else None
    return EmbeddingEndpoint(variable=variable, url=url, key_variable=key_variable, key=secret, model=model)
