"""The environment as frozen objects; all problems are reported together."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from ipaddress import ip_network
from typing import Annotated, Final, Literal, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from worker.classifiers.endpoints import ClassifierKeys, Classifiers
from worker.errors import ConfigurationError
from worker.payload import PAYLOAD_BYTES

HttpUrl = Annotated[str, Field(pattern=r"^https?://\S+$")]
OPENAI: Final = "https://api.openai.com/v1"
OPENROUTER: Final = "https://openrouter.ai/api/v1"
OPENAI_URL_MEANS: Final = "OpenAI-compatible endpoint of the moderation API, and of embeddings by default."
OPENAI_KEY_MEANS: Final = "Key of OPENAI_BASE_URL; required unless OPENAI_MODERATION_ENABLED is false."
SCHEMES: Final = {
    "database_url": ("postgresql://", "postgres://"),
    "redis_url": ("redis://", "rediss://", "unix://"),
}


ONE_PLACE: Final = re.compile(r"(\[[^\]]*\]|[^:]*)(:(?P<port>\d{0,5}))?")
"""``host:port``; passwords before it may hold anything, as libpq takes them unquoted."""


class Environment(BaseSettings):
    """How every settings class reads the environment and ``.env``."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="ignore",
        env_file=".env",
        env_ignore_empty=True,
        case_sensitive=True,
        hide_input_in_errors=True,  # a traceback of ValidationError would quote secrets
    )

    sentry_dsn: SecretStr | None = Field(
        default=None,
        alias="SENTRY_DSN",
        description="Sentry project for errors; receives no prompts, texts or local variables.",
    )


def _checked_url(url: SecretStr, info: ValidationInfo) -> SecretStr:
    schemes, value = SCHEMES[str(info.field_name)], url.get_secret_value()
    if not value.startswith(schemes):
        raise ValueError(f"expected a URL that starts with {' or '.join(schemes)}")
    places = re.split(r"[/?]", value.partition("://")[2].rpartition("@")[2])[0]
    found = [ONE_PLACE.fullmatch(place) for place in places.split(",")]  # Postgres may have several
    if not all(each and int(each["port"] or 0) <= 65_535 for each in found):
        raise ValueError("expected a host and a port from 0 to 65535 in the URL")
    return url


class DatabaseSettings(Environment):
    """Settings of a command that uses Postgres only."""

    database_url: Annotated[SecretStr, AfterValidator(_checked_url)] = Field(
        alias="DATABASE_URL", description="Postgres 15 or later: postgresql://user:password@host:5432/name"
    )


class StreamSettings(Environment):
    """Settings of a command that uses Redis only."""

    redis_url: Annotated[SecretStr, AfterValidator(_checked_url)] = Field(
        alias="REDIS_URL", description="Redis 7.2+ or Valkey 8+ with AOF and noeviction: redis://host:6379/0"
    )
    stream: str = Field(
        default="hushgate:events",
        alias="HUSHGATE_STREAM",
        pattern=r"^[^{}\s]+$",
        description="Redis stream of events.",
    )
    reply_stream: str = Field(
        default="hushgate:replies",
        alias="HUSHGATE_REPLY_STREAM",
        pattern=r"^[^{}\s]+$",
        description="Redis stream of replies.",
    )
    retraction_stream: str = Field(
        default="hushgate:retractions",
        alias="HUSHGATE_RETRACTION_STREAM",
        pattern=r"^[^{}\s]+$",
        description="Redis stream of delivered replies that a reviewer removed.",
    )
    payload_bytes: int = Field(
        default=PAYLOAD_BYTES,
        ge=1024,
        le=16_777_216,
        alias="HUSHGATE_PAYLOAD_BYTES",
        description="Largest payload of an event, in bytes.",
    )


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

    openai_base_url: HttpUrl = Field(default=OPENAI, alias="OPENAI_BASE_URL", description=OPENAI_URL_MEANS)
    openai_api_key: SecretStr | None = Field(
        default=None, alias="OPENAI_API_KEY", description=OPENAI_KEY_MEANS
    )


class ClassifierSettings(Environment):
    """The classifiers that accounts may choose as moderators, by name."""

    classifiers: Classifiers = Field(
        default={},
        alias="HUSHGATE_CLASSIFIERS",
        description="Classifiers behind chat endpoints as a JSON object, name -> base_url, model and format;"
        " see docs/moderators.md.",
    )


class SiteSettings(Environment):
    """Settings of a command that writes links to the review pages."""

    review_url: HttpUrl = Field(
        default="http://127.0.0.1:8085",
        alias="HUSHGATE_REVIEW_URL",
        description="URL at which people reach the review pages; https for other machines.",
    )


class ReviewSettings(SiteSettings, DocumentSettings, ClassifierSettings):
    """Settings of the review pages."""

    review_idle_s: float = Field(
        default=28_800.0,
        ge=60,
        le=604_800,
        alias="HUSHGATE_REVIEW_IDLE_S",
        description="Seconds without a page view after which a session ends.",
    )
    review_session_s: float = Field(
        default=86_400.0,
        ge=60,
        le=2_592_000,
        alias="HUSHGATE_REVIEW_SESSION_S",
        description="Seconds after sign-in at which a session ends.",
    )
    review_proxies: str = Field(
        default="",
        alias="HUSHGATE_REVIEW_PROXIES",
        description="Addresses and networks of proxies whose X-Forwarded-For and -Proto are trusted.",
    )
    oidc_issuer: HttpUrl | None = Field(
        default=None,
        alias="HUSHGATE_REVIEW_OIDC_ISSUER",
        description="OpenID Connect issuer for sign-in, exactly as it names itself; https.",
    )
    oidc_client_id: str = Field(
        default="",
        validate_default=True,
        alias="HUSHGATE_REVIEW_OIDC_CLIENT_ID",
        description="Our client id at the issuer; its redirect URL is HUSHGATE_REVIEW_URL/sign-in/oidc/back.",
    )
    oidc_client_secret: SecretStr | None = Field(
        default=None,
        alias="HUSHGATE_REVIEW_OIDC_CLIENT_SECRET",
        description="Our client secret at the issuer.",
    )
    oidc_name: str = Field(
        default="your organisation",
        min_length=1,
        max_length=60,
        alias="HUSHGATE_REVIEW_OIDC_NAME",
        description="Name of the provider on the sign-in page.",
    )
    passwords_enabled: bool = Field(
        default=True,
        alias="HUSHGATE_REVIEW_PASSWORDS",
        description="False: people sign in by OpenID Connect or by a link from the command line.",
    )

    @field_validator("review_proxies")
    @classmethod
    def _proxies_are_addresses(cls, proxies: str) -> str:
        for each in proxies.split(",") if proxies.strip() else ():  # a trusted proxy may name any client
            try:
                every_address = ip_network(each.strip()).prefixlen == 0
            except ValueError:
                every_address = True
            if every_address:
                raise ValueError("expected addresses or networks of proxies, such as 10.0.0.5,10.1.0.0/24")
        return proxies

    @field_validator("oidc_client_id")
    @classmethod
    def _issuer_has_a_client(cls, client_id: str, info: ValidationInfo) -> str:
        if info.data.get("oidc_issuer") is not None and not client_id:
            raise ValueError("expected the client id at HUSHGATE_REVIEW_OIDC_ISSUER")
        return client_id

    @field_validator("oidc_issuer")
    @classmethod
    def _issuer_is_safe(cls, issuer: str | None) -> str | None:
        parts = urlsplit(issuer or "https://")
        if parts.scheme != "https" and parts.hostname not in {"127.0.0.1", "::1", "localhost"}:
            raise ValueError("expected https")
        return issuer


class LoginSettings(DatabaseSettings):
    """Settings of ``hushgate migrate --create-logins``."""

    db_worker_password: SecretStr | None = Field(
        default=None,
        alias="HUSHGATE_DB_WORKER_PASSWORD",
        description="For hushgate migrate --create-logins: password of the workers' database login.",
    )
    db_review_password: SecretStr | None = Field(
        default=None,
        alias="HUSHGATE_DB_REVIEW_PASSWORD",
        description="For hushgate migrate --create-logins: password of the review pages' database login.",
    )


class Settings(StreamSettings, EmbeddingSettings, ClassifierSettings):
    """Settings of a worker, read from the environment and ``.env`` once, at start."""

    openai_moderation_enabled: bool = Field(
        default=True,
        alias="OPENAI_MODERATION_ENABLED",
        description="False: no text is moderated, for any account.",
    )
    openai_api_key: SecretStr | None = Field(
        default=None,
        validate_default=True,
        alias="OPENAI_API_KEY",
        description=OPENAI_KEY_MEANS,
    )
    openai_base_url: HttpUrl = Field(
        default=OPENAI,
        alias="OPENAI_BASE_URL",
        description=OPENAI_URL_MEANS,
    )
    openrouter_base_url: HttpUrl = Field(
        default=OPENROUTER,
        alias="OPENROUTER_BASE_URL",
        description="OpenAI-compatible endpoint of the language model: OpenRouter, vLLM, Ollama.",
    )
    openrouter_api_key: SecretStr | None = Field(
        default=None,
        validate_default=True,
        alias="OPENROUTER_API_KEY",
        description="Key of the language model's endpoint; required unless OPENROUTER_BASE_URL is set.",
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
        description="Events decided at once per process.",
    )
    heartbeat_ttl_s: float = Field(
        default=10.0,
        ge=1,
        le=300,
        alias="HUSHGATE_HEARTBEAT_TTL_S",
        description="Seconds after which a worker without a heartbeat counts as dead: the recovery time.",
    )
    drain_s: float = Field(
        default=25.0,
        ge=0,
        le=600,
        alias="HUSHGATE_DRAIN_S",
        description="How long SIGTERM waits for running entries.",
    )
    max_starts: int = Field(
        default=10,
        ge=2,
        le=1000,
        alias="HUSHGATE_MAX_STARTS",
        description="Grants before an entry is poison.",
    )
    db_pool: int = Field(
        default=10, ge=2, le=200, alias="HUSHGATE_DB_POOL", description="Postgres connections per process."
    )

    llm_model: str = Field(
        default="openai/gpt-4.1-mini", min_length=1, alias="HUSHGATE_LLM_MODEL", description="Language model."
    )
    llm_attempts: int = Field(
        default=3,
        ge=1,
        le=10,
        alias="HUSHGATE_LLM_ATTEMPTS",
        description="Attempts for one completion.",
    )
    llm_first_wait_s: float = Field(
        default=2.0,
        ge=0,
        le=60,
        alias="HUSHGATE_LLM_FIRST_WAIT_S",
        description="Seconds before the second attempt; doubled after each failure.",
    )
    llm_longest_wait_s: float = Field(
        default=60.0,
        ge=0,
        le=600,
        alias="HUSHGATE_LLM_LONGEST_WAIT_S",
        description="Longest Retry-After that is followed, in seconds.",
    )
    llm_timeout_s: float = Field(
        default=30.0,
        gt=0,
        le=600,
        alias="HUSHGATE_LLM_TIMEOUT_S",
        description="Time limit of one attempt, in seconds.",
    )
    llm_max_tokens: int = Field(
        default=512,
        ge=16,
        le=32_768,
        alias="HUSHGATE_LLM_MAX_TOKENS",
        description="Most tokens of one completion.",
    )
    llm_tool_rounds: int = Field(
        default=2,
        ge=0,
        le=10,
        alias="HUSHGATE_LLM_TOOL_ROUNDS",
        description="Most rounds of tool calls for one event.",
    )
    judge_enabled: bool = Field(
        default=True,
        alias="HUSHGATE_JUDGE_ENABLED",
        description="False: no judge; its answers count as unavailable.",
    )
    judge_model: str = Field(
        default="",
        alias="HUSHGATE_JUDGE_MODEL",
        description="Language model of the judge; empty: HUSHGATE_LLM_MODEL.",
    )
    moderation_model: str = Field(
        default="omni-moderation-latest",
        alias="HUSHGATE_MODERATION_MODEL",
        description="Model of the moderation API.",
    )
    moderation_timeout_s: float = Field(
        default=10.0,
        gt=0,
        le=120,
        alias="HUSHGATE_MODERATION_TIMEOUT_S",
        description="Time limit of one moderation call, in seconds.",
    )
    classifier_keys: ClassifierKeys = Field(
        default={},
        alias="HUSHGATE_CLASSIFIER_KEYS",
        description="Keys of HUSHGATE_CLASSIFIERS as a JSON object, name -> key; none for a server without"
        " keys.",
    )

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        default="INFO",
        alias="HUSHGATE_LOG_LEVEL",
        description="Log level; texts of users are logged at DEBUG only.",
    )
    beat_file: str = Field(
        default="celerybeat-schedule",
        alias="HUSHGATE_BEAT_FILE",
        description="File with the schedule of beat.",
    )
    keep_keys_days: int = Field(
        default=0,
        ge=0,
        alias="HUSHGATE_KEEP_KEYS_DAYS",
        description="Days that idempotency keys are kept; 0 for ever.",
    )
    keep_decisions_months: int = Field(
        default=0,
        ge=0,
        alias="HUSHGATE_KEEP_DECISIONS_MONTHS",
        description="Months that the audit is kept; 0 for ever.",
    )

    @field_validator("classifier_keys")
    @classmethod
    def _keys_have_classifiers(cls, keys: dict[str, SecretStr], info: ValidationInfo) -> dict[str, SecretStr]:
        if unknown := sorted(keys.keys() - info.data.get("classifiers", keys).keys()):
            raise ValueError(f"expected names of HUSHGATE_CLASSIFIERS, also {', '.join(unknown)} is there")
        return keys

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


def load_settings() -> Settings:
    """The settings of a worker.

    Raises:
        ConfigurationError: one line for every problem, with variable, expectation and value.
    """
    return _read(Settings)


def settings_from(environment: Mapping[str, str]) -> Settings:
    """The settings from these variables only.

    Raises:
        ConfigurationError: as ``load_settings``.
    """
    return _read(lambda: Settings.model_validate(dict(environment)))


def load_database_settings() -> DatabaseSettings:
    """The settings of a command that needs Postgres only.

    Raises:
        ConfigurationError: as ``load_settings``.
    """
    return _read(DatabaseSettings)


def load_stream_settings() -> StreamSettings:
    """The settings of a command that needs Redis only.

    Raises:
        ConfigurationError: as ``load_settings``.
    """
    return _read(StreamSettings)


def load_site_settings() -> SiteSettings:
    """The settings of a command that writes links to the review pages.

    Raises:
        ConfigurationError: as ``load_settings``.
    """
    return _read(SiteSettings)


def load_document_settings() -> DocumentSettings:
    """The settings of the document commands.

    Raises:
        ConfigurationError: as ``load_settings``.
    """
    return _read(DocumentSettings)


def load_review_settings() -> ReviewSettings:
    """The settings of the review pages.

    Raises:
        ConfigurationError: as ``load_settings``.
    """
    return _read(ReviewSettings)


def load_login_settings() -> LoginSettings:
    """The settings of the command that creates logins.

    Raises:
        ConfigurationError: as ``load_settings``.
    """
    return _read(LoginSettings)


def embedding_endpoint(settings: Settings | DocumentSettings) -> tuple[str, str | None]:
    """Base URL and key of the embedding model; OPENAI_API_KEY is sent to OPENAI_BASE_URL only."""
    key = settings.embedding_api_key
    if settings.embedding_base_url is None:
        key = key or settings.openai_api_key
    url = settings.embedding_base_url or settings.openai_base_url
    return url, key.get_secret_value() if key else None


def classifier_key(settings: Settings, name: str) -> str | None:
    """The key of a classifier; None for one without a key."""
    key = settings.classifier_keys.get(name)
    return key.get_secret_value() if key else None


def _read(read: Callable[[], Known]) -> Known:
    try:
        return read()
    except ValidationError as error:
        lines = [_line(problem) for problem in error.errors(include_url=False)]
        # without its cause, which quotes the input: secrets too
        raise ConfigurationError("\n".join(["the environment is not usable:", *lines])) from None


def _line(problem: object) -> str:
    assert isinstance(problem, dict)  # pydantic's ErrorDetails is a dict
    name = ".".join(str(part) for part in problem["loc"])
    name = ALIASES.get(name, name)
    message = str(problem["msg"]).removeprefix("Value error, ").replace("Input should be", "expected")
    message = message.replace("String should", "expected to").partition(", unable to parse")[0]
    if problem["type"] == "missing":
        return f"  {name}: expected a value, got nothing"
    value = problem["input"]
    shown = "a secret" if name.partition(".")[0] in SECRETS and value is not None else repr(value)
    return f"  {name}: {message}, got {shown}"


FIELDS: Final = dict(
    sorted(
        (Settings.model_fields | ReviewSettings.model_fields | LoginSettings.model_fields).items(),
        key=lambda item: not item[1].is_required(),
    )
)
"""Every variable of any command, the required ones first."""
ALIASES: Final = {name: str(field.alias) for name, field in FIELDS.items()}
SECRETS: Final = frozenset(
    str(field.alias) for field in FIELDS.values() if "SecretStr" in str(field.annotation)
)
Known = TypeVar("Known", bound=Environment)
