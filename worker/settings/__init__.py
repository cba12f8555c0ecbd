"""The environment as frozen objects, one class for each need; all problems are reported together."""

from __future__ import annotations

from typing import Final

from worker.settings.alerts import AlertSettings
from worker.settings.classifiers import ClassifierSettings
from worker.settings.documents import (
    EMBEDDINGS_OFF,
    DocumentSettings,
    EmbeddingEndpoint,
    EmbeddingSettings,
    embedding_endpoint,
)
from worker.settings.environment import Environment, load, secret_variables
from worker.settings.gateway import GatewaySettings, IngestSettings
from worker.settings.metrics import FleetSettings, MetricsSettings
from worker.settings.moderation import ModerationSettings
from worker.settings.outgoing import BackupSettings, OutgoingStreamSettings
from worker.settings.retention import ErasureSettings, RetentionSettings
from worker.settings.review import ReviewSettings, SiteSettings
from worker.settings.servers import DatabaseSettings, LoginSettings, RedisPresence, StreamSettings
from worker.settings.tracing import TraceContent, TraceSettings
from worker.settings.transparency import TransparencySettings
from worker.settings.webhooks import WebhookSettings
from worker.settings.worker import Settings, classifier_key

__all__ = [
    "ALIASES",
    "EMBEDDINGS_OFF",
    "FIELDS",
    "SECRETS",
    "AlertSettings",
    "BackupSettings",
    "ClassifierSettings",
    "DatabaseSettings",
    "DocumentSettings",
    "EmbeddingEndpoint",
    "EmbeddingSettings",
    "Environment",
    "ErasureSettings",
    "FleetSettings",
    "GatewaySettings",
    "IngestSettings",
    "LoginSettings",
    "MetricsSettings",
    "ModerationSettings",
    "OutgoingStreamSettings",
    "RedisPresence",
    "RetentionSettings",
    "ReviewSettings",
    "Settings",
    "SiteSettings",
    "StreamSettings",
    "TraceContent",
    "TraceSettings",
    "TransparencySettings",
    "WebhookSettings",
    "classifier_key",
    "embedding_endpoint",
    "load",
]

REQUIRED: Final = ("DATABASE_URL", "REDIS_URL", "OPENAI_API_KEY", "OPENROUTER_API_KEY")
"""What a worker needs with the default endpoints."""
FIELDS: Final = dict(
    sorted(
        (
            Settings.model_fields
            | GatewaySettings.model_fields
            | LoginSettings.model_fields
            | TransparencySettings.model_fields
        ).items(),
        key=lambda item: item[1].alias not in REQUIRED,
    )
)
"""Every variable of any command, ``REQUIRED`` first."""
ALIASES: Final = {name: str(field.alias) for name, field in FIELDS.items()}
SECRETS: Final = secret_variables(FIELDS.values())
