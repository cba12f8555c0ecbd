"""Celery's consumer and channels, for a Redis that is away or refuses commands, and for foreign messages."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import structlog
from celery.worker.consumer import Consumer
from kombu.common import ignore_errors
from kombu.exceptions import KombuError, OperationalError
from kombu.transport import TRANSPORT_ALIASES
from kombu.transport.redis import Channel, Transport
from redis.exceptions import ConnectionError as ConnectionLost

log = structlog.get_logger(__name__)

PAUSE_S: Final = 1.0
MALFORMED: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What Celery and Kombu raise for a message that is no task: a worker ends, and puts it back for the next."""


class PatientConsumer(Consumer):  # type: ignore[misc]  # Celery has no types
    """Closes an unusable connection, and pauses before the next.

    Celery 5.7 keeps a connection open when its first write is refused, because the step that closes
    connections does not know it yet, and reconnects at once: 11 new connections a second on a full Redis.
    Remove this class when Celery's ``Consumer.connect`` closes a connection that it could not register.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # what Kombu raises where it repeats a command itself, as the greeting of other workers does
        errors: tuple[type[Exception], ...] = self.connection_errors  # type: ignore[has-type]
        self.connection_errors = (*errors, OperationalError)

    def connect(self) -> Any:
        """A connection registered with the event loop; closed when the registration fails."""
        connection = self.connection_for_read(heartbeat=self.amqheartbeat)
        try:
            if self.hub:
                connection.transport.register_with_event_loop(connection.connection, self.hub)
        except Exception:
            ignore_errors(connection, connection.close)  # type: ignore[no-untyped-call]
            raise
        return connection

    def on_connection_error_before_connected(self, exc: Exception) -> None:
        """Report, then pause."""
        super().on_connection_error_before_connected(exc)
        time.sleep(PAUSE_S)

    def on_connection_error_after_connected(self, exc: Exception) -> None:
        """Report and close, then pause."""
        super().on_connection_error_after_connected(exc)
        time.sleep(PAUSE_S)


class LosableChannel(Channel):
    """Says that its connection is lost where Kombu 5.7 raises AttributeError.

    That happens when a task is acknowledged or handed back after its connection was closed. Celery ignores or
    repeats after errors of the connection, and ends the worker after any other; such a task comes again.
    Remove ``_connparams`` when Kombu's own channel raises an error of the connection.
    """

    def _connparams(self, asynchronous: bool = False) -> Any:  # as Kombu declares it
        if self.connection is None or self.connection.client is None:
            raise ConnectionLost("the connection to Redis was closed")
        return super()._connparams(asynchronous)  # type: ignore[no-untyped-call]

    def basic_consume(
        self, queue: Any, no_ack: bool, callback: Callable[[Any], Any], consumer_tag: Any, **options: Any
    ) -> Any:
        """Consume a queue; a ``MALFORMED`` message does not come again."""

        def consume(message: Any) -> None:
            try:
                callback(_checked(message))
            except MALFORMED:
                if not no_ack and not message.acknowledged:
                    message.reject()
                raise

        return super().basic_consume(queue, no_ack, consume, consumer_tag, **options)  # type: ignore[no-untyped-call]

    def _brpop_read(self, **options: Any) -> Any:
        """Read one message; one that is no JSON is dropped."""
        try:
            return super()._brpop_read(**options)  # type: ignore[no-untyped-call]
        except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
            _log_dropped(error)


def _checked(message: Any) -> Any:
    """The message; raises a ``MALFORMED`` error for a task without objects where its keywords stand.

    Celery notices in a thread, and neither acknowledges such a message nor frees its place.
    """
    with suppress(KombuError):  # Celery rejects what it cannot decode
        parts = message.payload
        if isinstance(parts, list) and not all(
            isinstance(each, dict | None) for each in (parts[1], parts[2])
        ):
            raise TypeError("expected a list and two objects")
    return message


class RedisTransport(Transport):
    """Kombu's transport with channels that can lose their connection."""

    Channel = LosableChannel

    def _deliver(self, message: Any, queue: str) -> None:
        """Give a message to its consumer; a ``MALFORMED`` one is dropped."""
        try:
            super()._deliver(message, queue)  # type: ignore[no-untyped-call]
        except MALFORMED as error:
            _log_dropped(error)


def _log_dropped(error: Exception) -> None:
    """Log a message that another client put on the queue, without its text."""
    log.error("task_dropped", error=type(error).__name__)


def use_losable_channels() -> None:
    """Make ``redis://`` and ``rediss://`` use ``RedisTransport``; only a URL's scheme names a transport."""
    path = f"{RedisTransport.__module__}:{RedisTransport.__qualname__}"
    TRANSPORT_ALIASES.update(dict.fromkeys(("redis", "rediss"), path))
