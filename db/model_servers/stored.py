"""Reading and changing the stored model servers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeVar

from pydantic import SecretStr

from db.connection import Connection
from db.model_servers.sealing import open_seal, seal
from db.pool import Pool, fetch_as
from worker.settings import ModelRole, ModelServerSettings, StoredServer

SELECT: Final = "SELECT role, url, sealed_key, model, changed_by, changed_at FROM model_servers ORDER BY role"
STORE: Final = """
    INSERT INTO model_servers (role, url, sealed_key, model, changed_by) VALUES (%s, %s, %s, %s, %s)
    ON CONFLICT (role) DO UPDATE SET url = excluded.url, sealed_key = excluded.sealed_key,
        model = excluded.model, changed_by = excluded.changed_by, changed_at = now()
"""
Known = TypeVar("Known", bound=ModelServerSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRow:
    """A row of ``model_servers``."""

    role: str
    url: str | None
    sealed_key: bytes | None
    model: str
    changed_by: str
    changed_at: datetime

    def opened(self, key: SecretStr | None) -> StoredServer:
        """The server with its key."""
        found = None
        if self.sealed_key is not None:
            found = open_seal(self.sealed_key, _owner(self.role, self.url), key)
        return StoredServer(
            role=ModelRole(self.role),
            url=self.url,
            key=None if found is None else SecretStr(found.decode()),
            model=self.model,
            unreadable=self.sealed_key is not None and found is None,
        )


def sealed_key(server: StoredServer, key: SecretStr) -> bytes | None:
    """The server's key as it is stored: it opens for this role and address only; None: no key."""
    if server.key is None:
        return None
    return seal(server.key.get_secret_value().encode(), _owner(server.role, server.url), key)


def opened_key(sealed: bytes, role: ModelRole, url: str | None, key: SecretStr | None) -> SecretStr | None:
    """The key that was sealed for this role and address; None: for others, or with another key."""
    found = open_seal(sealed, _owner(role, url), key)
    return None if found is None else SecretStr(found.decode())


async def load_rows(source: Pool) -> tuple[ServerRow, ...]:
    """The stored servers; raises what ``checkout`` raises."""
    return tuple(await fetch_as(source, ServerRow, SELECT))


async def load_servers(source: Pool, key: SecretStr | None) -> tuple[StoredServer, ...]:
    """The stored servers with their keys."""
    return tuple(row.opened(key) for row in await load_rows(source))


async def with_stored_servers(known: Known, source: Pool) -> Known:
    """The settings with the stored servers where the environment names none."""
    return known.with_stored(await load_servers(source, known.secrets_key))


async def store_servers(
    connection: Connection, servers: Iterable[StoredServer], key: SecretStr | None, *, changed_by: str
) -> None:
    """Store servers in place of those of their roles; a key needs ``key``."""
    for each in servers:
        sealed = None if key is None else sealed_key(each, key)
        await connection.execute(STORE, (each.role.value, each.url, sealed, each.model, changed_by))


def _owner(role: str, url: str | None) -> bytes:
    return f"{role} {url or ''}".encode()
