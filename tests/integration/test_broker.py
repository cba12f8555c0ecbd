"""A channel of Celery whose connection to Redis was closed."""

from __future__ import annotations

from typing import Any

import pytest
from kombu.connection import Connection

from tasks.broker import LosableChannel, use_losable_channels


def test_a_closed_connection_is_a_lost_one(redis_url: str) -> None:
    """With Kombu's AttributeError Celery ends the worker, as ``make chaos`` saw after SIGKILLs of Valkey."""
    use_losable_channels()
    connection: Any = Connection(redis_url)  # type: ignore[no-untyped-call]
    channel = connection.default_channel
    lost = connection.connection_errors
    connection.release()

    assert isinstance(channel, LosableChannel)
    with pytest.raises(lost, match="was closed"):
        channel.pool  # noqa: B018  # what every command of a channel reads
