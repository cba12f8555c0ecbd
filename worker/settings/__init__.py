"""The environment as frozen objects, one class for each need; all problems are reported together."""

from __future__ import annotations

from typing import Final

from pydantic.fields import FieldInfo

from worker.settings.alerts import AlertSettings
from worker.settings.classifiers import ClassifierSettings
from worker.settings.environment import Environment, load, secret_variables
from worker.settings.gateway import GatewaySettings, IngestSettings
from worker.settings.metrics import FleetSettings, MetricsSettings
from worker.settings.model_servers import (
    OFF,
    SOURCE_NAMES,
    DocumentSettings,
    ModelRole,
    ModelServer,
    ModelServers,
    ModelServerSettings,
    StoredServer,
    require_models,
)
from worker.settings.moderation import ModerationSettings
from worker.settings.outgoing import BackupSettings, OutgoingStreamSettings
from worker.settings.retention import ErasureSettings, RetentionSettings
from worker.settings.review import ReviewSettings, SiteSettings
from worker.settings.servers import DatabaseSettings, LoginSettings, RedisPresence, StreamSettings
from worker.settings.tracing import TraceContent, TraceSettings
from worker.settings.transparency import TransparencySettings
from worker.settings.webhooks import WebhookSettings
from worker.settings.worker import Settings, classifier_key

REQUIRED: Final = ("DATABASE_URL", "REDIS_URL", "HUSHGATE_MODEL_URL", "HUSHGATE_MODEL_KEY", "HUSHGATE_MODEL")
"""What a worker needs."""
_USED: Final = (Settings, GatewaySettings, LoginSettings, TransparencySettings)
KNOWN_FIELDS: Final = {name: field for kind in _USED for name, field in kind.model_fields.items()}
"""Every variable of any command, also the names of the source design."""


def topic_of(name: str) -> str:
    """What a field is about: the module that declares it, in words."""
    kinds = (kind for used in _USED for kind in used.__mro__ if name in vars(kind).get("__annotations__", {}))
    return next(kinds).__module__.rpartition(".")[2].replace("_", " ").capitalize()


_TOPICS: Final = tuple(dict.fromkeys(("Model servers", *map(topic_of, KNOWN_FIELDS))))


def _place(name: str, field: FieldInfo) -> tuple[int, int]:
    needed = REQUIRED.index(field.alias) if field.alias in REQUIRED else len(REQUIRED)
    return needed, _TOPICS.index(topic_of(name))


FIELDS: Final = dict(
    sorted(
        ((name, field) for name, field in KNOWN_FIELDS.items() if field.alias not in SOURCE_NAMES),
        key=lambda item: _place(*item),
    )
)
"""``KNOWN_FIELDS`` without the names of the source design: ``REQUIRED`` first, then by topic."""
RARE: Final = frozenset({
    "ENABLE_VALIDATORS", "HUSHGATE_BEAT_FILE", "HUSHGATE_BROKER_URL", "HUSHGATE_CONCURRENT_CALLS",
    "HUSHGATE_DB_POOL", "HUSHGATE_DRAIN_S", "HUSHGATE_EMBEDDINGS_DIMENSIONS", "HUSHGATE_ENGINE_ENABLED",
    "HUSHGATE_FEATURES", "HUSHGATE_HEARTBEAT_FILE", "HUSHGATE_HEARTBEAT_TTL_S", "HUSHGATE_INGEST_RATE",
    "HUSHGATE_IN_FLIGHT", "HUSHGATE_MAX_STARTS", "HUSHGATE_METRICS_ACCOUNTS", "HUSHGATE_MODEL_ATTEMPTS",
    "HUSHGATE_MODEL_FIRST_WAIT_S", "HUSHGATE_MODEL_TIMEOUT_S", "HUSHGATE_MODERATION_BATCH",
    "HUSHGATE_MODERATION_REUSE_S", "HUSHGATE_MODERATION_TIMEOUT_S", "HUSHGATE_PUBLISH_REPLICAS",
    "HUSHGATE_READ_DATABASE_URL", "HUSHGATE_RECEIPT_VERIFIERS", "HUSHGATE_REVIEW_BREACHED_PASSWORDS",
    "HUSHGATE_SHADOW_USD_A_DAY", "HUSHGATE_SHARDS", "HUSHGATE_STREAM", "HUSHGATE_TRACES_CONTENT",
    "HUSHGATE_TRACES_RATIO", "HUSHGATE_WEBHOOK_LOOPBACK", "VALIDATOR_EVIDENCE_THRESHOLD",
})  # fmt: skip
"""Variables that ``.env.example`` leaves out; ``hushgate config example --all`` prints them too."""
ALIASES: Final = {name: str(field.alias) for name, field in FIELDS.items()}
SECRETS: Final = secret_variables(KNOWN_FIELDS.values())
