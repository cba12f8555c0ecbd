"""What ``hushgate worker``, ``beat``, ``review`` and ``gateway`` check before they start.

Apart from the web server: workers are installed without it.
"""

from __future__ import annotations

import re
from typing import Final

from redis.exceptions import AuthenticationError, AuthorizationError, MovedError, RedisError

from cli.options import REACH_S
from cli.output import print_message
from db.health.start import require_database
from tasks.shards.clients import LuaScript, connect_sync
from worker.errors import ConfigurationError
from worker.settings import ReviewSettings, Settings, StreamSettings

LOGIN: Final = "login, password and number of the database as Redis has them"
REFUSED: Final = (
    (r"DB index|\bSELECT\b|0th database|operation not permitted|'auth' command|protected mode", LOGIN),
    (r"\bno permissions to access\b", "a login that may use the keys of Hushgate"),
    (r"\bno permissions to run\b", "a login that may run commands and scripts (EVALSHA)"),
    (
        r"WRONG_VERSION|LAYER_FAILURE|Protocol error, got",
        "rediss:// at a port with TLS, redis:// at one without",
    ),
    (r"CERTIFICATE_VERIFY_FAILED", "a certificate that is trusted (SSL_CERT_FILE)"),
    (r"\b(?:unknown|unsupported) command\b", "Redis itself, of a supported version"),
)
"""What a server answers to an address that no waiting makes right, and what was expected."""


def require_servers(settings: Settings | ReviewSettings, *, role: str | None) -> None:
    """End with the cause where waiting would not help; print a line where the process waits for a server.

    Raises:
        ConfigurationError: Postgres or Redis refuses the address, login or password.
    """
    waits = [require_database(settings.database_url.get_secret_value(), role=role)]
    if isinstance(settings, StreamSettings):
        waits.append(_redis(settings.redis_url.get_secret_value(), settings.stream))
    for reason in filter(None, waits):
        print_message(reason, style="yellow")


def _redis(url: str, stream: str) -> str:
    try:
        with connect_sync(url, timeout_s=REACH_S) as redis:
            redis.ping()
            redis.exists(stream)
            LuaScript(redis, "return 0").run(keys=(), args=())  # logins of hosts may often run no scripts
    except MovedError as error:
        expected = "REDIS_URL: expected one server, got a node of a cluster: name it by redis+cluster://"
        raise ConfigurationError(f"{expected} (docs/scale.md)") from error
    except RedisError as error:
        known = (expected for words, expected in REFUSED if re.search(words, str(error), re.IGNORECASE))
        is_login = isinstance(error, AuthenticationError | AuthorizationError)
        if expected := next(known, LOGIN if is_login else ""):
            raise ConfigurationError(f"REDIS_URL: expected {expected}, got: {error}") from error
        return f"Redis does not answer, waiting for it: {error}"
    return ""
