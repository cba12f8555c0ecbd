"""The variables of a worker."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr, ValidationInfo, field_validator

from worker.settings.alerts import AlertSettings
from worker.settings.calls import CallSettings
from worker.settings.environment import HttpUrl
from worker.settings.metrics import MetricsSettings
from worker.settings.model_servers import ModelServerSettings
from worker.settings.moderation import ModerationSettings
from worker.settings.outgoing import OutgoingStreamSettings
from worker.settings.prices import PriceSettings
from worker.settings.retention import ErasureSettings, key_bytes
from worker.settings.tracing import TraceSettings
from worker.settings.webhooks import WebhookSettings


class Settings(
    OutgoingStreamSettings,
    ModelServerSettings,
    ErasureSettings,
    ModerationSettings,
    WebhookSettings,
    MetricsSettings,
    AlertSettings,
    TraceSettings,
    CallSettings,
    PriceSettings,
):
    """Settings of a worker, read from the environment and ``.env`` once, at start."""

    review_url: HttpUrl | None = None
    """URL at which people reach the review pages, for links in escalations; none: no links."""
    stream_key: SecretStr | None = None
    """Key that signs the entries of the reply, retraction and escalation streams, 32 bytes in base64;
    `openssl rand -base64 32` makes one. Consumers check with it, see docs/channels.md."""
    broker_url: SecretStr | None = Field(default=None, validate_default=True)
    """Redis of the Celery tasks; none: REDIS_URL. Required beside a cluster, which Celery cannot use."""
    engine_enabled: bool = True
    """False: this worker runs Celery tasks only."""
    in_flight: int = Field(default=1000, ge=1, le=20_000)
    """Events decided at once per process."""
    heartbeat_ttl_s: float = Field(default=10.0, ge=1, le=300)
    """Seconds after which a worker without a heartbeat counts as dead: the recovery time."""
    drain_s: float = Field(default=25.0, ge=0, le=600)
    """How long SIGTERM waits for running entries."""
    max_starts: int = Field(default=10, ge=2, le=1000)
    """Grants after which an entry has two more runs before it is poison."""
    db_pool: int = Field(default=10, ge=2, le=200)
    """Postgres connections per process."""
    shadow_usd_a_day: float = Field(default=1.0, ge=0)
    """US dollars that all shadows of an account may spend in a day (UTC) for answers that recordings lack;
    each shadow declares its own part."""

    model_attempts: int = Field(default=3, ge=1, le=10)
    """Attempts for one completion."""
    model_first_wait_s: float = Field(default=2.0, ge=0, le=60)
    """Seconds before the second attempt; doubled after each failure."""
    model_timeout_s: float = Field(default=30.0, gt=0, le=600)
    """Time limit of one attempt, in seconds."""
    model_max_tokens: int = Field(default=512, ge=16, le=32_768)
    """Most tokens of one completion."""
    model_context_tokens: int = Field(default=16_000, ge=1024, le=2_000_000)
    """Context of the smallest language model, in tokens; the oldest lines of a conversation are left out of a
    longer prompt."""
    validators_enabled: bool = Field(default=True, alias="ENABLE_VALIDATORS")
    """Default of `enabled` in the policy validators. False: its drafts are not assessed."""
    validator_evidence_threshold: float = Field(
        default=0.01, ge=0, le=1, alias="VALIDATOR_EVIDENCE_THRESHOLD"
    )
    """Default of `evidence_threshold` in the policy validators: least share of a draft's words that the
    passages contain."""
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """Log level; texts of users are logged at DEBUG only."""
    beat_file: str = ""
    """File that keeps the schedule of beat over restarts, also for probes. Empty: none."""
    heartbeat_file: str = ""
    """File that a worker touches every 5 s while it runs, for probes; with .ready at its end a second one,
    touched while Redis and Postgres answer. Empty: none."""

    @field_validator("stream_key")
    @classmethod
    def _stream_key_is_usable(cls, key: SecretStr | None) -> SecretStr | None:
        if key is not None:
            key_bytes(key.get_secret_value())
        return key

    @field_validator("broker_url")
    @classmethod
    def _celery_has_a_broker(cls, url: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        redis = info.data.get("redis_url")
        if url is None and redis is not None and "+cluster://" in redis.get_secret_value():
            raise ValueError("expected a Redis that is no cluster: Celery cannot use REDIS_URL")
        return url


def classifier_key(settings: Settings, name: str) -> str | None:
    """The key of a classifier; None for one without a key."""
    key = settings.classifier_keys.get(name)
    return key.get_secret_value() if key else None
