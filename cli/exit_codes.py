"""The exit codes of ``hushgate``: one closed set, the same for every command."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

import psycopg
from redis.exceptions import RedisError

from worker.errors import (
    ConfigurationError,
    EmbeddingRejected,
    RejectedError,
    RetryableError,
    StorageUnavailable,
)


class ExitCode(IntEnum):
    """How a command ended."""

    OK = 0
    NEGATIVE = 1
    USAGE = 2
    CONFIGURATION = 3
    UNAVAILABLE = 4
    REJECTED = 5
    DEFECT = 6
    HUNG_UP = 129
    INTERRUPTED = 130


MEANINGS: Final = {
    ExitCode.OK: "The command did what was asked.",
    ExitCode.NEGATIVE: "The command ran to its end with a negative result: a check failed, an id was not"
    " found, or some of several items failed.",
    ExitCode.USAGE: "The command line is wrong: an option, an argument, or a file that cannot be opened.",
    ExitCode.CONFIGURATION: "The deployment is wrong: a variable, a right, a missing migration or package.",
    ExitCode.UNAVAILABLE: "Postgres, Redis or an API does not answer, or refuses the connection.",
    ExitCode.REJECTED: "The input was read and rejected as a whole; nothing was changed.",
    ExitCode.DEFECT: "A defect of Hushgate; a traceback is on standard error.",
    ExitCode.HUNG_UP: "The terminal was closed.",
    ExitCode.INTERRUPTED: "Interrupted with Ctrl-C.",
}
"""What each code means, for ``hushgate --help`` and ``docs/cli.md``."""


def _cause(error: Exception) -> BaseException:
    """The error of Postgres that caused this error; else the error."""
    behind = error.__cause__
    return behind if isinstance(error, StorageUnavailable) and isinstance(behind, psycopg.Error) else error


def code_of(error: Exception) -> ExitCode:
    """The exit code of a command that ended with this error."""
    match _cause(error):
        case ConfigurationError() | EmbeddingRejected() | psycopg.ProgrammingError():
            return ExitCode.CONFIGURATION
        case RejectedError():
            return ExitCode.REJECTED
        case RetryableError() | RedisError() | psycopg.Error():
            return ExitCode.UNAVAILABLE
    return ExitCode.DEFECT
