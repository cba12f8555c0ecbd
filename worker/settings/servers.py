"""The variables of Postgres and Redis, for commands that need nothing else too."""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import AfterValidator, Field, SecretStr, ValidationInfo

from worker.settings.environment import Environment

SCHEMES: Final = {
    "database_url": ("postgresql://", "postgres://"),
    "read_database_url": ("postgresql://", "postgres://"),
    "redis_url": ("redis://", "rediss://", "unix://", "redis+cluster://", "rediss+cluster://"),
}
ONE_PLACE: Final = re.compile(r"(\[[^\]]*\]|[^:]*)(:(?P<port>\d{0,5}))?")
"""``host:port``; passwords before it may hold anything, as libpq takes them unquoted."""


def _checked_url(url: SecretStr, info: ValidationInfo) -> SecretStr:
    schemes, value = SCHEMES[str(info.field_name)], url.get_secret_value()
    if not value.startswith(schemes):
        raise ValueError(f"expected a URL that starts with {' or '.join(schemes)}")
    scheme, _, rest = value.partition("://")
    place, _, path = rest.rpartition("@")[2].partition("?")[0].partition("/")
    found = [ONE_PLACE.fullmatch(each) for each in place.split(",")]  # Postgres may have several
    if not all(each and int(each["port"] or 0) <= 65_535 for each in found):
        raise ValueError("expected a host and a port from 0 to 65535 in the URL")
    if scheme in ("redis", "rediss") and path.strip("/") and not path.strip("/").isdecimal():
        raise ValueError("expected the number of a database behind the host, as in redis://host:6379/0")
    return url


class DatabaseSettings(Environment):
    """Settings of a command that uses Postgres only."""

    database_url: Annotated[SecretStr, AfterValidator(_checked_url)] = Field(alias="DATABASE_URL")
    """Postgres 15 or later: postgresql://user:password@host:5432/name"""
    read_database_url: Annotated[SecretStr, AfterValidator(_checked_url)] | None = None
    """A streaming replica of DATABASE_URL for lists, figures and exports, see docs/scale.md."""


class LoginSettings(DatabaseSettings):
    """Settings of ``hushgate migrate --create-logins``."""

    db_worker_password: SecretStr | None = None
    """For hushgate migrate --create-logins: password of the workers' database login."""
    db_review_password: SecretStr | None = None
    """For hushgate migrate --create-logins: password of the review pages' database login."""
    db_audit_password: SecretStr | None = None
    """For hushgate migrate --create-logins: password of the database login of the transparency log."""
    db_gateway_password: SecretStr | None = None
    """For hushgate migrate --create-logins: password of the gateway's database login."""


class RedisPresence(Environment):
    """Whether a command that can do without Redis has one."""

    redis_url: SecretStr | None = Field(default=None, alias="REDIS_URL")


class StreamSettings(Environment):
    """Settings of a command that uses Redis only.

    The outgoing streams stand beside the stream of events: ``shop:events`` has ``shop:replies``.
    """

    redis_url: Annotated[SecretStr, AfterValidator(_checked_url)] = Field(alias="REDIS_URL")
    """Redis 7.2+ or Valkey 8+ with AOF and noeviction: redis://host:6379/0; a cluster:
    redis+cluster://host:6379"""
    stream: str = Field(default="hushgate:events", pattern=r"^[^{}\s]+$")
    """Redis stream of events; what stands before its last colon begins the names of the outgoing streams:
    hushgate:replies, hushgate:retractions, hushgate:escalations."""
    shards: int | None = Field(default=None, ge=1, le=1024)
    """Streams that share the events; fixed at the first use of HUSHGATE_STREAM, see docs/scale.md. None: as
    many as it has, 1 for a new one."""
    publish_replicas: int = Field(default=0, ge=0, le=10)
    """Replicas of Redis that must have an event before POST /api/v1/events, hushgate publish or the Celery
    task accepts it; 0: a failover may lose the newest events, see docs/recovery.md."""

    @property
    def reply_stream(self) -> str:
        """Redis stream of replies."""
        return self._beside("replies")

    @property
    def retraction_stream(self) -> str:
        """Redis stream of delivered replies that a reviewer removed."""
        return self._beside("retractions")

    @property
    def escalation_stream(self) -> str:
        """Redis stream of messages that people must answer."""
        return self._beside("escalations")

    def _beside(self, name: str) -> str:
        return f"{self.stream.rpartition(':')[0] or self.stream}:{name}"
