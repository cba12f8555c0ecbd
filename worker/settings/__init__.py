"""The environment as frozen objects, one class for each need; all problems are reported together."""

from __future__ import annotations

from typing import Final

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

__all__ = [
    "ALIASES",
    "FIELDS",
    "KNOWN_FIELDS",
    "OFF",
    "SECRETS",
    "AlertSettings",
    "BackupSettings",
    "ClassifierSettings",
    "DatabaseSettings",
    "DocumentSettings",
    "Environment",
    "ErasureSettings",
    "FleetSettings",
    "GatewaySettings",
    "IngestSettings",
    "LoginSettings",
    "MetricsSettings",
    "ModelRole",
    "ModelServer",
    "ModelServerSettings",
    "ModelServers",
    "ModerationSettings",
    "OutgoingStreamSettings",
    "RedisPresence",
    "RetentionSettings",
    "ReviewSettings",
    "Settings",
    "SiteSettings",
    "StoredServer",
    "StreamSettings",
    "TraceContent",
    "TraceSettings",
    "TransparencySettings",
    "WebhookSettings",
    "classifier_key",
    "load",
    "require_models",
]

REQUIRED: Final = ("DATABASE_URL", "REDIS_URL", "HUSHGATE_MODEL_URL", "HUSHGATE_MODEL_KEY", "HUSHGATE_MODEL")
"""What a worker needs."""
KNOWN_FIELDS: Final = (
    Settings.model_fields
    | GatewaySettings.model_fields
    | LoginSettings.model_fields
    | TransparencySettings.model_fields
)
"""Every variable of any command, also the names of the source design."""
FIELDS: Final = dict(
    sorted(
        ((name, field) for name, field in KNOWN_FIELDS.items() if field.alias not in SOURCE_NAMES),
        key=lambda item: REQUIRED.index(item[1].alias) if item[1].alias in REQUIRED else len(REQUIRED),
    )
)
"""``KNOWN_FIELDS``, ``REQUIRED`` first, without the names of the source design."""
ALIASES: Final = {name: str(field.alias) for name, field in FIELDS.items()}
SECRETS: Final = secret_variables(KNOWN_FIELDS.values())
