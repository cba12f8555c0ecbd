"""Celery's consumer, for a Redis that refuses commands: full, read-only or loading."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any, Final

from celery.worker.consumer import Consumer
from celery.worker.consumer.consumer import COLLECT_SOCKET_TIMEOUT
from kombu.common import ignore_errors
from kombu.exceptions import OperationalError

PAUSE_S: Final = 1.0


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
        """Close and report, then pause."""
        connection: Any
        connection, self.connection = self.connection, None  # type: ignore[has-type]
        if connection:
            close_lost(connection)
        super().on_connection_error_after_connected(exc)
        time.sleep(PAUSE_S)


def close_lost(connection: Any) -> None:
    """Close a connection that was lost; a task that is not acknowledged comes again.

    As Celery 5.7 does, but Kombu 5.7 raises AttributeError when it closes a collected connection with such
    a task, and Celery would end the worker. Remove it when Kombu does not.

    Args:
        connection: a ``kombu.Connection``.
    """
    with suppress(Exception):
        connection.collect(socket_timeout=COLLECT_SOCKET_TIMEOUT)
    with suppress(AttributeError):
        ignore_errors(connection, connection.close)  # type: ignore[no-untyped-call]
