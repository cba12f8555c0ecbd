"""The environment as one frozen object; every problem is reported together."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from ipaddress import ip_network
from typing import Annotated, Final, Literal, TypeVar
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from worker.errors import ConfigurationError

HttpUrl = Annotated[str, Field(pattern=r"^https?://\S+$")]
OPENAI: Final = "https://api.openai.com/v1"
OPENROUTER: Final = "https://openrouter.ai/api/v1"
SCHEMES: Final = {
    "database_url": ("postgresql://", "postgres://"),
    "redis_url": ("redis://", "rediss://", "unix://"),
}


ONE_PLACE: Final = re.compile(r"(\[[^\]]*\]|[^:]*)(:(?P<port>\d{0,5}))?")
"""``host:port``; passwords before it may hold anything, as libpq takes them unquoted."""


class Connections(BaseSettings):
    """What every command needs: where events, replies, the audit and errors live."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="ignore",
        env_file=".env",
        env_ignore_empty=True,
        case_sensitive=True,
        hide_input_in_errors=True,  # a traceback of ValidationError would quote secrets
    )

    database_url: SecretStr = Field(
        alias="DATABASE_URL", description="Postgres 15 or later: postgresql://user:password@host:5432/name"
    )
    redis_url: SecretStr = Field(
        alias="REDIS_URL", description="Redis 7.2+ or Valkey 8+ with AOF and noeviction: redis://host:6379/0"
    )
    stream: str = Field(
        default="hushgate:events", alias="HUSHGATE_STREAM", pattern=r"^[^{}\s]+$", description="Event stream."
    )
    reply_stream: str = Field(
        default="hushgate:replies",
        alias="HUSHGATE_REPLY_STREAM",
        pattern=r"^[^{}\s]+$",
        description="Replies.",
    )
    retraction_stream: str = Field(
        default="hushgate:retractions",
        alias="HUSHGATE_RETRACTION_STREAM",
        pattern=r"^[^{}\s]+$",
        description="Replies that a reviewer took back.",
    )
    payload_bytes: int = Field(
        default=262_144,
        ge=1024,
        le=16_777_216,
        alias="HUSHGATE_PAYLOAD_BYTES",
        description="Largest payload.",
    )
    sentry_dsn: SecretStr | None = Field(
        default=None, alias="SENTRY_DSN", description="Errors go here; never prompts, texts or locals."
    )

    @field_validator("database_url", "redis_url")
    @classmethod
    def _scheme_is_known(cls, url: SecretStr, info: ValidationInfo) -> SecretStr:
        schemes, value = SCHEMES[str(info.field_name)], url.get_secret_value()
        if not value.startswith(schemes):
            raise ValueError(f"expected a URL that starts with {' or '.join(schemes)}")
        places = re.split(r"[/?]", value.partition("://")[2].rpartition("@")[2])[0]
        found = [ONE_PLACE.fullmatch(place) for place in places.split(",")]  # Postgres may have several
        if not all(each and int(each["port"] or 0) <= 65_535 for each in found):
            raise ValueError("expected a host and a port from 0 to 65535 in the URL")
        return url


class EmbeddingSettings(Connections):
    """Which embedding model documents and queries go through; without one, search is by words alone."""

    embedding_model: str = Field(
        default="",
        alias="HUSHGATE_EMBEDDING_MODEL",
        description="Embedding model, such as text-embedding-3-small; empty for full text search alone.",
    )
    embedding_base_url: HttpUrl | None = Field(
        default=None,
        alias="HUSHGATE_EMBEDDING_BASE_URL",
        description="Any OpenAI-compatible endpoint of embeddings; OPENAI_BASE_URL when not set.",
    )
    embedding_api_key: SecretStr | None = Field(
        default=None,
        alias="HUSHGATE_EMBEDDING_API_KEY",
        description="Its key; OPENAI_API_KEY when HUSHGATE_EMBEDDING_BASE_URL is not set.",
    )
    embedding_dimensions: int = Field(
        default=0,
        ge=0,
        le=4000,
        alias="HUSHGATE_EMBEDDING_DIMENSIONS",
        description="Length of vectors to ask for; 0 leaves it to the model.",
    )
    embedding_timeout_s: float = Field(
        default=5.0,
        gt=0,
        le=120,
        alias="HUSHGATE_EMBEDDING_TIMEOUT_S",
        description="Limit of embedding one query; after it the search goes on by words alone.",
    )


class DocumentSettings(EmbeddingSettings):
    """What the document commands need; unlike a worker they ask no moderation API."""

    openai_base_url: HttpUrl = Field(default=OPENAI, alias="OPENAI_BASE_URL")
    openai_api_key: SecretStr | None = Field(default=None, alias="OPENAI_API_KEY")


class ReviewSettings(DocumentSettings):
    """What the review pages need."""

    review_url: HttpUrl = Field(
        default="http://127.0.0.1:8085",
        alias="HUSHGATE_REVIEW_URL",
        description="Where people reach the review pages; https beyond this machine.",
    )
    review_idle_s: float = Field(
        default=28_800.0,
        ge=60,
        le=604_800,
        alias="HUSHGATE_REVIEW_IDLE_S",
        description="A session ends after this long without a page.",
    )
    review_session_s: float = Field(
        default=86_400.0,
        ge=60,
        le=2_592_000,
        alias="HUSHGATE_REVIEW_SESSION_S",
        description="A session ends after this long in any case.",
    )
    review_proxies: str = Field(
        default="127.0.0.1",
        alias="HUSHGATE_REVIEW_PROXIES",
        description="Addresses or networks whose X-Forwarded-For and -Proto are believed, by commas.",
    )
    oidc_issuer: HttpUrl | None = Field(
        default=None,
        alias="HUSHGATE_REVIEW_OIDC_ISSUER",
        description="OpenID Connect provider that people sign in by, as it names itself; https.",
    )
    oidc_client_id: str = Field(
        default="",
        validate_default=True,
        alias="HUSHGATE_REVIEW_OIDC_CLIENT_ID",
        description="Our client id there; the redirect address is HUSHGATE_REVIEW_URL/sign-in/oidc/back.",
    )
    oidc_client_secret: SecretStr | None = Field(
        default=None, alias="HUSHGATE_REVIEW_OIDC_CLIENT_SECRET", description="Our client secret there."
    )
    oidc_name: str = Field(
        default="your organisation",
        min_length=1,
        max_length=60,
        alias="HUSHGATE_REVIEW_OIDC_NAME",
        description="What the sign-in page calls the provider.",
    )
    passwords_enabled: bool = Field(
        default=True,
        alias="HUSHGATE_REVIEW_PASSWORDS",
        description="False: people sign in by OpenID Connect, or by a link from the command line.",
    )

    @field_validator("review_proxies")
    @classmethod
    def _proxies_are_addresses(cls, proxies: str) -> str:
        for each in proxies.split(","):  # whoever is believed may say that anybody asks
            try:
                everybody = ip_network(each.strip()).prefixlen == 0
            except ValueError:
                everybody = True
            if everybody:
                raise ValueError("expected addresses or networks of proxies, such as 10.0.0.5,10.1.0.0/24")
        return proxies

    @field_validator("oidc_client_id")
    @classmethod
    def _issuer_has_a_client(cls, client_id: str, info: ValidationInfo) -> str:
        if info.data.get("oidc_issuer") is not None and not client_id:
            raise ValueError("expected our client id at HUSHGATE_REVIEW_OIDC_ISSUER")
        return client_id

    @field_validator("oidc_issuer")
    @classmethod
    def _issuer_is_safe(cls, issuer: str | None) -> str | None:
        parts = urlsplit(issuer or "https://")
        if parts.scheme != "https" and parts.hostname not in {"127.0.0.1", "::1", "localhost"}:
            raise ValueError("expected https")
        return issuer


class Settings(EmbeddingSettings):
    """What a worker reads from its environment and from ``.env``, once, at start."""

    openai_moderation_enabled: bool = Field(
        default=True, alias="OPENAI_MODERATION_ENABLED", description="False switches moderation off for all."
    )
    openai_api_key: SecretStr | None = Field(
        default=None,
        validate_default=True,
        alias="OPENAI_API_KEY",
        description="Key of the moderation API.",
    )
    openai_base_url: HttpUrl = Field(
        default=OPENAI,
        alias="OPENAI_BASE_URL",
        description="Where the moderation API lives.",
    )
    openrouter_base_url: HttpUrl = Field(
        default=OPENROUTER,
        alias="OPENROUTER_BASE_URL",
        description="Any OpenAI-compatible endpoint: OpenRouter, vLLM, Ollama, the sandbox.",
    )
    openrouter_api_key: SecretStr | None = Field(
        default=None,
        validate_default=True,
        alias="OPENROUTER_API_KEY",
        description="Key of the language model's endpoint.",
    )

    engine_enabled: bool = Field(
        default=True,
        alias="HUSHGATE_ENGINE_ENABLED",
        description="False: this worker runs Celery tasks only.",
    )
    in_flight: int = Field(
        default=1000,
        ge=1,
        le=20_000,
        alias="HUSHGATE_IN_FLIGHT",
        description="Events decided at once a process.",
    )
    heartbeat_ttl_s: float = Field(
        default=10.0,
        ge=1,
        le=300,
        alias="HUSHGATE_HEARTBEAT_TTL_S",
        description="Recovery time after a crash.",
    )
    drain_s: float = Field(
        default=25.0,
        ge=0,
        le=600,
        alias="HUSHGATE_DRAIN_S",
        description="How long SIGTERM waits for what runs.",
    )
    max_starts: int = Field(
        default=10,
        ge=2,
        le=1000,
        alias="HUSHGATE_MAX_STARTS",
        description="Hand-outs before an entry is poison.",
    )
    db_pool: int = Field(
        default=10, ge=2, le=200, alias="HUSHGATE_DB_POOL", description="Postgres connections a process."
    )

    llm_model: str = Field(
        default="openai/gpt-4.1-mini", min_length=1, alias="HUSHGATE_LLM_MODEL", description="Model to ask."
    )
    llm_attempts: int = Field(
        default=3,
        ge=1,
        le=10,
        alias="HUSHGATE_LLM_ATTEMPTS",
        description="Tries per completion (seed 004: 3).",
    )
    llm_first_wait_s: float = Field(
        default=2.0, ge=0, le=60, alias="HUSHGATE_LLM_FIRST_WAIT_S", description="Doubled after each failure."
    )
    llm_longest_wait_s: float = Field(
        default=60.0,
        ge=0,
        le=600,
        alias="HUSHGATE_LLM_LONGEST_WAIT_S",
        description="Longest Retry-After obeyed.",
    )
    llm_timeout_s: float = Field(
        default=30.0, gt=0, le=600, alias="HUSHGATE_LLM_TIMEOUT_S", description="Limit of one attempt."
    )
    llm_max_tokens: int = Field(
        default=512, ge=16, le=32_768, alias="HUSHGATE_LLM_MAX_TOKENS", description="Longest answer paid for."
    )
    llm_tool_rounds: int = Field(
        default=2, ge=0, le=10, alias="HUSHGATE_LLM_TOOL_ROUNDS", description="Rounds of tools per event."
    )
    judge_enabled: bool = Field(
        default=True,
        alias="HUSHGATE_JUDGE_ENABLED",
        description="False: what a confidence policy would ask a judge is unavailable.",
    )
    judge_model: str = Field(
        default="",
        alias="HUSHGATE_JUDGE_MODEL",
        description="Model of the judge; HUSHGATE_LLM_MODEL if empty.",
    )
    moderation_model: str = Field(
        default="omni-moderation-latest", alias="HUSHGATE_MODERATION_MODEL", description="Moderation model."
    )
    moderation_timeout_s: float = Field(
        default=10.0, gt=0, le=120, alias="HUSHGATE_MODERATION_TIMEOUT_S", description="Limit of one call."
    )

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        default="INFO", alias="HUSHGATE_LOG_LEVEL", description="User text appears in no level above DEBUG."
    )
    beat_file: str = Field(
        default="celerybeat-schedule", alias="HUSHGATE_BEAT_FILE", description="Where beat keeps its times."
    )
    keep_keys_days: int = Field(
        default=0,
        ge=0,
        alias="HUSHGATE_KEEP_KEYS_DAYS",
        description="Days idempotency keys live; 0 for ever.",
    )
    keep_decisions_months: int = Field(
        default=0, ge=0, alias="HUSHGATE_KEEP_DECISIONS_MONTHS", description="Months of audit; 0 for ever."
    )

    @field_validator("openai_api_key")
    @classmethod
    def _moderation_has_a_key(cls, key: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        if key is None and info.data.get("openai_moderation_enabled", True):
            raise ValueError("expected a key, or OPENAI_MODERATION_ENABLED=false")
        return key

    @field_validator("openrouter_api_key")
    @classmethod
    def _openrouter_has_a_key(cls, key: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        if key is None and info.data.get("openrouter_base_url") == OPENROUTER:
            raise ValueError("expected a key, or OPENROUTER_BASE_URL of a server that needs none")
        return key


def load() -> Settings:
    """The settings of a worker.

    Raises:
        ConfigurationError: one line for every problem, naming variable, expectation and what came.
    """
    return _read(Settings)


def given(environment: Mapping[str, str]) -> Settings:
    """The settings that these variables give, and no others.

    Raises:
        ConfigurationError: as ``load``.
    """
    return _read(lambda: Settings.model_validate(dict(environment)))


def connections() -> Connections:
    """The settings of a command that only looks or publishes.

    Raises:
        ConfigurationError: as ``load``.
    """
    return _read(Connections)


def documents() -> DocumentSettings:
    """The settings of the document commands.

    Raises:
        ConfigurationError: as ``load``.
    """
    return _read(DocumentSettings)


def review() -> ReviewSettings:
    """The settings of the review pages.

    Raises:
        ConfigurationError: as ``load``.
    """
    return _read(ReviewSettings)


def embedding_endpoint(settings: Settings | DocumentSettings) -> tuple[str, str | None]:
    """Base URL and key of the embedding model; OpenAI's key goes to OpenAI's URL and nowhere else."""
    key = settings.embedding_api_key
    if settings.embedding_base_url is None:
        key = key or settings.openai_api_key
    url = settings.embedding_base_url or settings.openai_base_url
    return url, key.get_secret_value() if key else None


def _read(read: Callable[[], Known]) -> Known:
    try:
        return read()
    except ValidationError as error:
        lines = [_line(problem) for problem in error.errors(include_url=False)]
        # without its cause, which quotes what came: secrets too
        raise ConfigurationError("\n".join(["the environment is not usable:", *lines])) from None


def _line(problem: object) -> str:
    assert isinstance(problem, dict)  # noqa: S101  # pydantic's ErrorDetails is a dict
    name = ".".join(str(part) for part in problem["loc"])
    name = ALIASES.get(name, name)
    message = str(problem["msg"]).removeprefix("Value error, ").replace("Input should be", "expected")
    message = message.replace("String should", "expected to").partition(", unable to parse")[0]
    if problem["type"] == "missing":
        return f"  {name}: expected a value, got nothing"
    value = problem["input"]
    shown = "a secret" if name in SECRETS and value is not None else repr(value)
    return f"  {name}: {message}, got {shown}"


FIELDS: Final = Settings.model_fields | ReviewSettings.model_fields
"""Every variable that any command reads."""
ALIASES: Final = {name: str(field.alias) for name, field in FIELDS.items()}
SECRETS: Final = frozenset(
    str(field.alias) for field in FIELDS.values() if "SecretStr" in str(field.annotation)
)
Known = TypeVar("Known", bound=Connections)
