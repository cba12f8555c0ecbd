"""Who on the same machine can reach the embedded servers."""

from __future__ import annotations

import stat
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from redis import Redis
from redis.exceptions import NoPermissionError

from cli.stack import Stack


def test_redis_without_the_password_does_nothing(stack: Stack) -> None:
    """Loopback is everybody's: a stranger may say PING and nothing else."""
    with Redis(port=urlsplit(stack.redis_url).port or 0) as stranger:
        answered = stranger.ping()
        with pytest.raises(NoPermissionError):
            stranger.xrange("hushgate:events")
        with pytest.raises(NoPermissionError):
            stranger.config_set("dir", "/tmp")

    assert answered is True


def test_files_of_the_servers_are_their_owners_alone(stack: Stack) -> None:
    """The append-only file holds what users wrote, the socket trusts whoever reaches it."""
    with Redis.from_url(stack.redis_url, decode_responses=True) as redis:
        valkey = Path(redis.config_get("dir")["dir"])
    socket = Path(urlsplit(stack.database_url).query.removeprefix("host="))

    assert stat.S_IMODE(valkey.stat().st_mode) == 0o700
    assert stat.S_IMODE(socket.stat().st_mode) == 0o700
