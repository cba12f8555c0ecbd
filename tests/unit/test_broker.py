"""Celery's connection is lost while a task is not acknowledged."""

from __future__ import annotations

from typing import NoReturn

import pytest

from tasks.broker import close_lost


class _Collected:
    """A Kombu connection whose transport is gone, as ``make chaos`` saw it after SIGKILLs of Valkey."""

    connection_errors = (OSError,)
    channel_errors = (LookupError,)

    def __init__(self, error: type[Exception]) -> None:
        self.error = error
        self.closed = 0

    def collect(self, *, socket_timeout: float) -> NoReturn:
        """Fail as the server is away."""
        raise OSError(socket_timeout)

    def close(self) -> NoReturn:
        """Fail as Kombu does where it reads the host of no transport."""
        self.closed += 1
        raise self.error


@pytest.mark.parametrize("error", [AttributeError, OSError, LookupError])
def test_closing_a_lost_connection_does_not_end_the_worker(error: type[Exception]) -> None:
    """Celery would call anything else unrecoverable and exit."""
    connection = _Collected(error)

    close_lost(connection)

    assert connection.closed == 1


def test_other_errors_are_not_hidden() -> None:
    """Only what is known to be harmless is ignored."""
    with pytest.raises(RuntimeError):
        close_lost(_Collected(RuntimeError))
