"""Model servers that are connected while workers run."""

from __future__ import annotations

import asyncio
import base64
import time

import psycopg
import pytest
from pydantic import SecretStr

from db.model_servers.stored import load_rows, store_servers
from db.pool import create_pool
from sandbox.server import SandboxHandle
from tests.support.running import eventually, running
from worker.settings import ModelRole, StoredServer

KEY = base64.b64encode(bytes(32)).decode()
NO_MODEL = {"HUSHGATE_MODEL_URL": "", "HUSHGATE_MODEL_KEY": ""}
AT_ONCE_S = 1.5
"""A second, and what a test's machine may take beside."""


def connect(url: str, server_url: str, model: str = "", role: ModelRole = ModelRole.MODEL) -> None:
    """Store the server of a role as the review pages do."""
    key = "sk-stored"

    async def store() -> None:
        server = StoredServer(role=role, url=server_url, key=SecretStr(key), model=model)
        async with create_pool(url, size=1, application="test", role="hushgate_reviewer") as source:
            async with source.connection() as connection:
                await store_servers(connection, [server], SecretStr(KEY), changed_by="admin")
            (row,) = (each for each in await load_rows(source) if each.role == role)
            assert row.sealed_key is not None
            assert key.encode() not in row.sealed_key

    asyncio.run(store())


def test_a_worker_without_a_model_waits_and_goes_on(
    database_url: str, redis_url: str, sandbox: SandboxHandle
) -> None:
    """The event is decided once a server is connected, and another model is used within a second."""
    with running(database_url, redis_url, sandbox, HUSHGATE_SECRETS_KEY=KEY, **NO_MODEL) as engine:
        user_id = engine.account(documents={"Hours": ["We are open from nine to six."]})
        waiting = engine.publish(user_id, "When are you open?")
        time.sleep(0.7)
        unread = engine.redis.xlen("hushgate:events")
        connect(database_url, sandbox.base_url, "first")
        began = time.monotonic()
        decided = engine.decided(user_id, waiting)
        took_s = time.monotonic() - began
        connect(database_url, sandbox.base_url, "second")
        time.sleep(AT_ONCE_S)
        second = engine.decide(user_id, "From when are you open?")
    calls = sandbox.requests(route="chat", contains="are you open?")
    asked = [name for name in ("first", "second") if any(f"'{name}'" in str(each) for each in calls)]

    assert unread == 1
    assert took_s < 10
    assert "sk-stored" not in str((decided, second))
    assert asked == ["first", "second"]


def test_a_held_event_uses_corrected_servers(
    database_url: str, redis_url: str, sandbox: SandboxHandle
) -> None:
    """It waits for the wrong server until an administrator names the right one, not until its hold ends."""
    connect(database_url, f"{sandbox.url}/no-api", role=ModelRole.MODERATION)
    with running(database_url, redis_url, sandbox, HUSHGATE_SECRETS_KEY=KEY) as engine:
        user_id = engine.account(documents={"Hours": ["We are open from nine to six."]})
        held = engine.publish(user_id, "When are you open?")
        eventually(lambda: engine.runtime.parts.holds.events, "a held event")
        connect(database_url, sandbox.base_url, role=ModelRole.MODERATION)
        decision = engine.decided(user_id, held)

    assert decision["reason_code"] == "REPLIED"
    assert sandbox.requests(route="moderations", contains="are you open?")


def test_a_useless_server_hides_no_change_of_settings(
    database_url: str, redis_url: str, sandbox: SandboxHandle
) -> None:
    """An account is switched off although the stored servers cannot be used."""
    with running(database_url, redis_url, sandbox, HUSHGATE_SECRETS_KEY=KEY) as engine:
        user_id = engine.account()
        before = engine.decide(user_id, "When are you open?")
        connect(database_url, "http://[", role=ModelRole.JUDGE)
        time.sleep(AT_ONCE_S)
        engine.change(user_id, ai_control_enabled=False)

        def decided() -> str:
            return str(engine.decide(user_id, "From when are you open?")["reason_code"])

        eventually(lambda: decided() == "AI_DISABLED", "the change")

    assert before["reason_code"] != "AI_DISABLED"


@pytest.mark.parametrize("role", ["hushgate_gateway", "hushgate_audit"])
def test_other_services_cannot_read_the_servers(database_url: str, role: str) -> None:
    """Neither the gateway nor the transparency log."""
    with psycopg.connect(database_url) as connection:
        connection.execute(f"SET ROLE {role}")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT * FROM model_servers")


def test_a_worker_may_read_but_not_change_them(database_url: str) -> None:
    """A taken over worker cannot send the keys elsewhere."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("SET ROLE hushgate_worker")
        connection.execute("SELECT * FROM model_servers")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("UPDATE model_servers SET url = 'http://x'")
