"""Whether a process may start on its database: a mistake that no waiting repairs ends the process at once."""

from __future__ import annotations

from typing import Final

import psycopg

from db.faults import answer_of
from worker.errors import ConfigurationError

CONNECT_S: Final = 5
TLS: Final = "add sslmode=require to the address"
REFUSED: Final = (
    ("password authentication failed", "check its password"),
    ("PAM authentication failed", "check its password"),
    ("no password supplied", "add its password"),
    ("is not permitted to log in", "name a login of `hushgate migrate --create-logins`"),
    ("no pg_hba.conf entry", "allow this host and login in pg_hba.conf of the server"),
    ("does not exist", "create it, or correct the address"),
    ("SASL authentication failed", "check login and password, here and in the pooler's auth_file"),
    ("bouncer config error", "name the database in the configuration of the pooler"),
    ("no such database", "name the database in the configuration of the pooler"),
    ("no such user", "name the login in the configuration of the pooler"),
    ("Tenant or user not found", "name the login as LOGIN.PROJECT, by which the pooler finds the project"),
    ("Endpoint ID is not specified", "name the server by its host name, by which it finds the endpoint"),
    ("has no credentials for the role", "give the proxy a secret of this login"),
    ("connection is insecure", TLS),
    ("SSL connection is required", TLS),
    ("SSL required", TLS),
    ("unsupported startup parameter", "remove it from the address: a pooler does not pass it on"),
    ("transaction blocks not allowed", "set pool_mode of the pooler to transaction (docs/scale.md)"),
)
"""What Postgres or a pooler answers (in English; with other words the process waits) to a wrong address or
configuration, and the fix."""
STATE: Final = """
    SELECT current_user, to_regclass('alembic_version') IS NOT NULL AS is_migrated,
           %(role)s::text IS NULL OR EXISTS (
               SELECT FROM pg_roles WHERE rolname = %(role)s AND pg_has_role(current_user, oid, 'MEMBER'))
"""


def refusal_fix(answer: str) -> str | None:
    """How to fix a refusal that no waiting repairs; None for another answer."""
    return next((fix for words, fix in REFUSED if words in answer), None)


def require_database(url: str, *, role: str | None) -> str:
    """Connect once; why the process must wait, or an empty text.

    Args:
        url: of Postgres.
        role: that the login must be a member of; None: any login.

    Raises:
        ConfigurationError: the server refuses the login, has no such database or no tables, the login is
            that of another service, or a pooler in between does not work with Hushgate.
    """
    try:
        with psycopg.connect(url, connect_timeout=CONNECT_S) as connection:
            row = connection.execute(STATE, {"role": role}).fetchone()
    except psycopg.ProgrammingError as error:
        raise ConfigurationError(f"DATABASE_URL: {answer_of(error)}") from None
    except psycopg.Error as error:
        answer = (str(error).splitlines() or [""])[0]
        if (fix := refusal_fix(answer)) is not None:
            raise ConfigurationError(f"DATABASE_URL: {answer}: {fix}") from error
        return f"Postgres does not answer, waiting for it: {answer}"
    assert row is not None  # a query without FROM gives a row
    login, is_migrated, is_member = row
    if not is_migrated:
        raise ConfigurationError(
            "DATABASE_URL: expected a database with tables of Hushgate, got none: run `hushgate migrate`"
        )
    if not is_member:
        raise ConfigurationError(
            f"DATABASE_URL: expected a login with the role {role}, got {login}: use the login of the service,"
            " which `hushgate migrate --create-logins` prints"
        )
    return ""
