"""Whether a process may start on its database: a mistake that no waiting repairs ends the process at once."""

from __future__ import annotations

import re
import select
import tempfile
import time
from typing import Final

import psycopg
from psycopg import pq

from db.faults import answer_of
from worker.errors import ConfigurationError

CONNECT_S: Final = 5
TLS: Final = "add sslmode=require to the address"
POOLER: Final = "name database and login in the configuration of the pooler"
REFUSED: Final = (
    ("SASL authentication failed", "check login and password, here and in the pooler's auth_file"),
    ("authentication failed", "check its password"),
    ("rong password", "check its password"),
    ("incorrect password", "check its password"),
    ("no password supplied", "add its password"),
    ("supports only IAM, MD5, or SCRAM", "add its password"),
    ("is not permitted to log in", "name a login of `hushgate migrate --create-logins`"),
    ("no pg_hba.conf entry", "allow this host and login in pg_hba.conf of the server"),
    ("pg_hba.conf rejects connection", "allow this host and login in pg_hba.conf of the server"),
    ("permission denied for database", "grant the login CONNECT on it"),
    ("is not currently accepting connections", "allow connections to it, or name another database"),
    ("does not exist", "create it, or correct the address"),
    ("bouncer config error", POOLER),
    ("no such database", POOLER),
    ("no such user", POOLER),
    ("No pool configured for database", POOLER),
    ("route for '", POOLER),
    ("Tenant or user not found", "name the login as LOGIN.PROJECT, by which the pooler finds the project"),
    ("tenant/user", "name the login as LOGIN.PROJECT, by which the pooler finds the project"),
    ("Endpoint ID is not specified", "name the server by its host name, by which it finds the endpoint"),
    ("requested endpoint could not be found", "correct the host name, which names the endpoint"),
    ("project name inferred from SNI", "name the project once, in the host name or in options"),
    ("Invalid format for user or db_name", "name the login as LOGIN.PROJECT"),
    ("endpoint has been disabled", "enable it at the provider"),
    ("is not allowed to connect to this endpoint", "allow this host at the provider"),
    ("not in tenant allow_list", "allow this host at the provider"),
    ("does not match host name", "name the server as its certificate does"),
    ("channel binding required", "remove channel_binding from the address: the server has none"),
    ("alert certificate required", "name a certificate by sslcert and sslkey in the address"),
    ("Invalid Username specified", "name the login as LOGIN@SERVER"),
    ("has no credentials for the role", "give the proxy a secret of this login"),
    ("connection is insecure", TLS),
    ("SSL connection is required", TLS),
    ("SSL required", TLS),
    ("requires TLS connections", TLS),
    ("server does not support SSL", "remove sslmode from the address, or configure TLS in the server"),
    ("invalid sslmode value", "write disable, prefer, require, verify-ca or verify-full"),
    ("certificate verify failed", "name the file of its authority by sslrootcert in the address"),
    ("invalid response to SSL negotiation", "correct the port: another server answers there"),
    ("support command-line options", "remove options from the address"),
    ("unsupported startup parameter", "remove it from the address: a pooler does not pass it on"),
    ("transaction blocks not allowed", "set pool_mode of the pooler to transaction (docs/scale.md)"),
)
"""What Postgres or a pooler answers in English to a wrong address or configuration, and the fix."""
CODES: Final = {
    "28P01": "check its password",
    "28000": "check the login and the rules for its host in pg_hba.conf of the server",
    "3D000": "create it, or correct the address",
    "42501": "check the rights of the login on the database",
    "42704": "correct the options of the address",
    "22023": "correct the options of the address",
}
"""The same by SQLSTATE, for words of other languages."""
TRACED_CODE: Final = re.compile(rb'ErrorResponse\t.* C "(\w{5})"')
STATE: Final = """
    SELECT current_user, to_regclass('alembic_version') IS NOT NULL AS is_migrated,
           %(role)s::text IS NULL OR EXISTS (
               SELECT FROM pg_roles WHERE rolname = %(role)s AND pg_has_role(current_user, oid, 'MEMBER'))
"""


def refusal_fix(answer: str) -> str | None:
    """How to fix a refusal that no waiting repairs; None for another answer."""
    return next((fix for words, fix in REFUSED if words in answer), None)


def refusal_code(url: str) -> str:
    """The SQLSTATE with which a server refuses a login, or an empty text.

    libpq drops it, so that it is read from the trace of a second connection.
    """
    connection, until_s = pq.PGconn.connect_start(url.encode()), time.monotonic() + CONNECT_S
    with tempfile.TemporaryFile() as trace:
        connection.trace(trace.fileno())
        while (left_s := until_s - time.monotonic()) > 0:
            state = connection.connect_poll()
            if state not in (pq.PollingStatus.READING, pq.PollingStatus.WRITING):
                break
            reads = [connection.socket] if state == pq.PollingStatus.READING else []
            select.select(reads, [] if reads else [connection.socket], [], left_s)
        connection.untrace()
        connection.finish()
        trace.seek(0)
        found = TRACED_CODE.search(trace.read())
    return found[1].decode() if found else ""


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
        if (fix := refusal_fix(answer) or CODES.get(refusal_code(url))) is not None:
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
