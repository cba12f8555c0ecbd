"""Stored model servers: which of them count, and how a worker changes over to them."""

from __future__ import annotations

import asyncio
import base64
from typing import cast

import pytest
from pydantic import SecretStr

from db.model_servers.sealing import open_seal, seal
from db.model_servers.stored import opened_key, sealed_key
from tasks.model_connections import ModelConnection, ModelConnections
from tasks.upstreams import Endpoints
from worker.errors import StorageUnavailable
from worker.ports import Ports
from worker.settings import ModelRole, Settings, StoredServer

KEY, OTHER_KEY = (SecretStr(base64.b64encode(bytes([n]) * 32).decode()) for n in (1, 2))
BARE = {"DATABASE_URL": "postgresql://h/d", "REDIS_URL": "redis://h"}
OWN, OTHER = "http://own.example/v1", "http://other.example/v1"
MODEL = ModelRole.MODEL


def server(
    role: ModelRole = MODEL, url: str | None = OWN, key: str | None = "k", model: str = "m"
) -> StoredServer:
    """A stored server."""
    return StoredServer(role=role, url=url, key=None if key is None else SecretStr(key), model=model)


def settings(**environment: str) -> Settings:
    """Settings of a worker."""
    return Settings.model_validate(BARE | environment)


@pytest.mark.parametrize(
    ("environment", "stored", "url", "key", "model"),
    [
        ({}, server(), OWN, "k", "m"),
        ({"HUSHGATE_MODEL": "named"}, server(), OWN, "k", "named"),
        ({"HUSHGATE_MODEL_URL": OTHER}, server(), OTHER, None, "m"),
        ({"HUSHGATE_MODEL_KEY": "e"}, server(), "https://openrouter.ai/api/v1", "e", "m"),
        ({"OPENAI_API_KEY": "e"}, server(model=""), "https://api.openai.com/v1", "e", "gpt-4.1-mini"),
    ],
)
def test_the_environment_wins(
    environment: dict[str, str], stored: StoredServer, url: str, key: str | None, model: str
) -> None:
    """A stored key is never sent to an address of the environment, nor a key of it to a stored address."""
    found = settings(**environment).with_stored([stored]).servers.model

    assert (found.url, found.key, found.model) == (url, key, model)


@pytest.mark.parametrize("role", [each for each in ModelRole if each is not MODEL])
def test_a_key_of_the_environment_alone_is_not_sent_to_a_stored_model_server(role: ModelRole) -> None:
    """The role uses the model's server with the key of that server; with its own address it keeps its key."""
    key = {f"{role.variable}_KEY": "e"}
    without = settings(**key).with_stored([server()]).servers
    own = settings(**key, **{f"{role.variable}_URL": OTHER}).with_stored([server()]).servers

    assert getattr(without, role).place == (OWN, "k")
    assert getattr(own, role).place == (OTHER, "e")


def test_a_role_without_an_address_uses_the_model_s_server() -> None:
    """And ``off`` calls none."""
    stored = [
        server(),
        server(ModelRole.JUDGE, None, None, "small"),
        server(ModelRole.MODERATION, None, None, "off"),
        server(ModelRole.EMBEDDINGS, OTHER, None, "bge"),
    ]
    found = settings().with_stored(stored).servers

    assert found.judge is not None
    assert (found.judge.place, found.judge.model) == ((OWN, "k"), "small")
    assert found.moderation is None
    assert found.embeddings is not None
    assert found.embeddings.place == (OTHER, None)


def test_a_server_whose_key_does_not_open_is_not_used() -> None:
    """The worker waits, as without one."""
    lost = StoredServer(role=MODEL, url=OWN, key=None, model="m", unreadable=True)

    assert settings().with_stored([lost]).models_problem is not None


def test_a_sealed_key_opens_for_its_role_and_address_only() -> None:
    """A row that was moved or changed in the database sends no key elsewhere."""
    sealed = sealed_key(server(), KEY)
    assert sealed is not None
    found = opened_key(sealed, MODEL, OWN, KEY)

    assert sealed != b"k"
    assert found is not None
    assert found.get_secret_value() == "k"
    assert opened_key(sealed, MODEL, OTHER, KEY) is None
    assert opened_key(sealed, ModelRole.JUDGE, OWN, KEY) is None
    assert opened_key(sealed, MODEL, OWN, OTHER_KEY) is None
    assert opened_key(sealed, MODEL, OWN, None) is None


def test_a_secret_is_sealed_differently_each_time() -> None:
    """Equal secrets do not show as equal."""
    assert seal(b"secret", b"owner", KEY) != seal(b"secret", b"owner", KEY)
    assert open_seal(b"\x01short", b"owner", KEY) is None


class Clients:
    """Clients of a choice of servers, which count how often they were closed."""

    def __init__(self, model: str) -> None:
        self.model = model
        self.closed = 0

    async def close(self) -> None:
        """Count it."""
        self.closed += 1


class Fleet:
    """What a worker reads and opens."""

    def __init__(self, **environment: str) -> None:
        self.stored: list[StoredServer] = []
        self.away = False
        self.opened: list[Clients] = []
        self.connections = ModelConnections(settings(**environment), self._load, self._connect)

    async def _load(self) -> list[StoredServer]:
        if self.away:
            raise StorageUnavailable("ConnectionFailed")
        return self.stored

    def _connect(self, found: Settings) -> ModelConnection:
        self.opened.append(Clients(found.servers.model.model))
        return ModelConnection(
            endpoints=cast("Endpoints", self.opened[-1]), ports=cast("Ports", found.servers.model.model)
        )

    async def used(self) -> str:
        """The model that an event would use now."""
        async with self.connections.in_use() as ports:
            return cast("str", ports)


@pytest.fixture
def moderated() -> dict[str, str]:
    """Moderation is switched off, so that a model is all that is needed."""
    return {"HUSHGATE_MODERATION": "off"}


async def test_an_event_waits_until_a_model_is_connected(moderated: dict[str, str]) -> None:
    """Nothing is lost, and nothing is called."""
    fleet = Fleet(**moderated)
    await fleet.connections.start()
    waiting = asyncio.create_task(fleet.used())
    await asyncio.sleep(0)
    before = (fleet.connections.connected, waiting.done())
    fleet.stored = [server(model="first")]
    await fleet.connections.refresh()

    assert before == (False, False)
    assert await waiting == "first"
    assert fleet.connections.connected


async def test_a_running_event_keeps_its_clients(moderated: dict[str, str]) -> None:
    """A new event has the new ones; the old are closed when their last event ends."""
    fleet = Fleet(**moderated)
    fleet.stored = [server(model="first")]
    await fleet.connections.start()
    async with fleet.connections.in_use() as first, fleet.connections.in_use():
        fleet.stored = [server(model="second")]
        await fleet.connections.refresh()
        during = (str(first), await fleet.used(), fleet.opened[0].closed)
    await fleet.connections.refresh()
    closed = [each.closed for each in fleet.opened]
    await fleet.connections.close()

    assert during == ("first", "second", 0)
    assert closed == [1, 0]
    assert [each.closed for each in fleet.opened] == [1, 1]


async def test_a_worker_without_postgres_begins_with_the_environment(moderated: dict[str, str]) -> None:
    """The stored servers follow as soon as Postgres answers."""
    fleet = Fleet(HUSHGATE_MODEL_URL=OWN, **moderated)
    fleet.away = True
    await fleet.connections.start()
    first = await fleet.used()
    fleet.away, fleet.stored = False, [server(model="stored")]
    await fleet.connections.refresh()

    assert (first, await fleet.used()) == ("openai/gpt-4.1-mini", "stored")
