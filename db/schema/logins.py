"""Logins of the services: each is a member of one of our roles and owns nothing."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, product
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import psycopg
from psycopg.sql import SQL, Identifier, Literal

from db.pool import AUDIT_ROLE, GATEWAY_ROLE, WORKER_ROLE
from db.review_store import REVIEWER_ROLE
from db.schema.migrate import LOCK
from db.sessions.prepared import SETTINGS
from worker.errors import ConfigurationError

PASSWORD_BYTES: Final = 24
CREATE: Final = SQL(
    "CREATE ROLE {login} LOGIN INHERIT NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS"
    " PASSWORD {password}"
)
SET_PASSWORD: Final = SQL("ALTER ROLE {login} LOGIN PASSWORD {password}")
MEMBER: Final = "GRANT {role} TO {login}"
RIGHTS: Final = (
    MEMBER,
    "GRANT CONNECT ON DATABASE {database} TO {role}",
    "REVOKE TEMPORARY ON DATABASE {database} FROM PUBLIC",  # a restored dump grants it again
)


KNOWN_SETTINGS: Final = "SELECT name FROM pg_settings WHERE name = ANY(%s)"
PATH: Final = """
    SELECT array_agg(schema) FROM (
        SELECT unnest(current_schemas(false)) AS schema
        UNION SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
        WHERE e.extname IN ('vector', 'pg_trgm') ORDER BY schema) AS found
"""
"""The schemas of the tables and of the extensions."""


class Service(StrEnum):
    """A service with its own login to Postgres; beat uses the login of the review pages."""

    WORKER = "worker"
    REVIEW = "review"
    AUDIT = "audit"
    GATEWAY = "gateway"


ROLES: Final = {
    Service.WORKER: (WORKER_ROLE,),
    Service.REVIEW: (REVIEWER_ROLE,),
    Service.AUDIT: (AUDIT_ROLE,),
    Service.GATEWAY: (GATEWAY_ROLE,),
}
TIMEOUTS: Final = {
    Service.WORKER: "30s",
    Service.REVIEW: "10s",
    Service.AUDIT: "30s",
    Service.GATEWAY: "10s",
}
LOGINS: Final = {
    Service.WORKER: "hushgate_worker_login",
    Service.REVIEW: "hushgate_review_login",
    Service.AUDIT: "hushgate_audit_login",
    Service.GATEWAY: "hushgate_gateway_login",
}


class LoginState(StrEnum):
    """What was done with a login."""

    CREATED = "created"
    PASSWORD_SET = "password set"  # noqa: S105  # no password
    KEPT = "kept"


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """A login of a service; ``password``: the new password; None when the login kept its own."""

    service: Service
    state: LoginState
    password: str | None

    @property
    def name(self) -> str:
        """The name of the login in Postgres."""
        return LOGINS[self.service]


def ensure(url: str, passwords: Mapping[Service, str], *, gateway_checks: bool = False) -> tuple[Login, ...]:
    """Create missing logins and set passwords; safe to repeat.

    A missing login without a password in ``passwords`` gets a generated one.

    Args:
        url: of a migrated database; its login must be a superuser or have CREATEROLE.
        passwords: passwords to set; an existing login that is not named keeps its own.
        gateway_checks: give the gateway's login the role of workers too, which checks need.

    Raises:
        ConfigurationError: the login of ``url`` may not create roles.
    """
    try:
        with psycopg.connect(url, connect_timeout=10) as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
            done = tuple(_ensure(connection, service, passwords.get(service)) for service in Service)
            if gateway_checks:
                roles = {"role": Identifier(WORKER_ROLE), "login": Identifier(LOGINS[Service.GATEWAY])}
                connection.execute(SQL(MEMBER).format(**roles))
            return done
    except psycopg.errors.InsufficientPrivilege as error:
        raise ConfigurationError(
            "logins: expected DATABASE_URL with a superuser or a login that has CREATEROLE and ADMIN on"
            f" {' and '.join(sorted(set(chain(*ROLES.values()))))},"
            f" got one without: {error.diag.message_primary}"
        ) from error


def url_of(url: str, login: str, password: str) -> str:
    """The URL of the same database with another login."""
    parts = urlsplit(url)
    query = [(name, value) for name, value in parse_qsl(parts.query) if name not in {"user", "password"}]
    host = parts.netloc.rpartition("@")[2]
    netloc = f"{quote(login, safe='')}:{quote(password, safe='')}@{host}"
    return parts._replace(netloc=netloc, query=urlencode(query, safe="/")).geturl()


def _ensure(connection: psycopg.Connection, service: Service, new_password: str | None) -> Login:
    name = LOGINS[service]
    row = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (name,)).fetchone()
    password = new_password or (secrets.token_hex(PASSWORD_BYTES) if row is None else None)
    state = LoginState.CREATED if row is None else LoginState.PASSWORD_SET if password else LoginState.KEPT
    if password is not None:
        statement = CREATE if row is None else SET_PASSWORD
        # as Postgres stores it, because the server may log the statement
        hashed = connection.pgconn.encrypt_password(password.encode(), name.encode()).decode()
        connection.execute(statement.format(login=Identifier(name), password=Literal(hashed)))
    database = Identifier(connection.info.dbname)
    for role, right in product(ROLES[service], RIGHTS):
        values = {"login": Identifier(name), "role": Identifier(role), "database": database}
        connection.execute(SQL(right).format(**values))
    _set_settings(connection, service)
    return Login(service=service, state=state, password=password)


def _set_settings(connection: psycopg.Connection, service: Service) -> None:
    """Give the login what statements depend on: behind a pooler no session can have its own."""
    login = Identifier(LOGINS[service])
    known = {name for (name,) in connection.execute(KNOWN_SETTINGS, (list(SETTINGS),))}
    own = {"statement_timeout": TIMEOUTS[service], **SETTINGS}
    for setting, value in own.items():
        if setting in known or setting not in SETTINGS:
            statement = SQL("ALTER ROLE {} SET {} = {}")
            connection.execute(statement.format(login, Identifier(setting), Literal(value)))
    row = connection.execute(PATH).fetchone()
    schemas = SQL(", ").join(map(Identifier, row[0])) if row and row[0] else Literal("")
    database = Identifier(connection.info.dbname)
    connection.execute(
        SQL("ALTER ROLE {} IN DATABASE {} SET search_path = {}").format(login, database, schemas)
    )
