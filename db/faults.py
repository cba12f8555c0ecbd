"""The cause of a Postgres error by its SQLSTATE: server or input; unknown codes count as unclear."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

import psycopg


class Fault(StrEnum):
    """The cause of an error, which decides what the caller must do.

    Attributes:
        SERVER: Postgres, its machine, the network or the deployment; no input can cause it. Wait.
        UNCLEAR: usually the server, but an input may cause it every time. Retry a limited number of times.
        INPUT: the values of the statement, or a bug in our SQL. A retry cannot help.
    """

    SERVER = "server"
    UNCLEAR = "unclear"
    INPUT = "input"


CLASSES: Final[Mapping[str, Fault]] = {
    "08": Fault.SERVER,  # the connection
    "0A": Fault.SERVER,  # a prepared statement that a migration made stale; our SQL itself is fixed
    "0L": Fault.SERVER,  # rights
    "0P": Fault.SERVER,  # a role that is missing
    "10": Fault.INPUT,  # XQuery
    "20": Fault.INPUT,  # a CASE without a branch for this value
    "21": Fault.INPUT,  # more rows than one where the values allow one
    "22": Fault.INPUT,  # a value that its type does not take
    "23": Fault.INPUT,  # a constraint; a concurrent row is seen by the next of the three runs
    "25": Fault.SERVER,  # read-only after a failover, time limits of transactions
    "26": Fault.SERVER,  # a prepared statement that a connection proxy lost
    "28": Fault.SERVER,  # the login
    "3D": Fault.SERVER,  # the database is missing
    "3F": Fault.SERVER,  # the schema is missing
    "40": Fault.SERVER,  # deadlock, serialization: another transaction won
    "44": Fault.INPUT,  # the check option of a view
    "53": Fault.SERVER,  # disk, memory, connections
    "54": Fault.INPUT,  # a value larger than Postgres can handle
    "55": Fault.SERVER,  # a lock or an object in use
    "57": Fault.SERVER,  # an operator, a shutdown, a crash
    "58": Fault.SERVER,  # the operating system
    "72": Fault.SERVER,  # a snapshot that is too old
    "F0": Fault.SERVER,  # a configuration file
    "P0": Fault.INPUT,  # a guard of the database refused the values, ours or the operator's
}
"""By the first two characters. A class that is not here is ``UNCLEAR``: 02, 03, 09, 0B, 0F, 0Z, 24, 27, 2B,
2D, 2F, 34, 38, 39, 3B, 42, HV and XX, which are functions of the operator, our own SQL and damaged rows."""

CODES: Final[Mapping[str, Fault]] = {
    "2200H": Fault.SERVER,  # a sequence that is used up
    "25P04": Fault.UNCLEAR,  # transaction_timeout: a lock, or an input that always takes so long
    "57014": Fault.UNCLEAR,  # statement_timeout: the same
    # what is missing or forbidden is the deployment's fault
    "42501": Fault.SERVER,  # right
    "42703": Fault.SERVER,  # column
    "42704": Fault.SERVER,  # object
    "42883": Fault.SERVER,  # function
    "42P01": Fault.SERVER,  # table
    "42P05": Fault.SERVER,  # a prepared statement that a connection proxy kept
}
"""Codes that differ from their class."""

WITHOUT_CODE: Final = (
    (psycopg.OperationalError, Fault.SERVER),  # the connection, or the pool
    (psycopg.InterfaceError, Fault.SERVER),
    (psycopg.NotSupportedError, Fault.SERVER),
    (psycopg.DataError, Fault.INPUT),  # psycopg refused a value before it was sent
    (psycopg.ProgrammingError, Fault.INPUT),
    (psycopg.IntegrityError, Fault.INPUT),
)
"""Errors that psycopg raises without an SQLSTATE."""


def answer_of(error: psycopg.Error) -> str:
    """What went wrong; without the parts of an unusable address that libpq quotes, such as the password."""
    if isinstance(error, psycopg.ProgrammingError) and error.sqlstate is None:
        return "expected an address as libpq reads it, got another"
    return str(error)


def fault_of(error: psycopg.Error) -> Fault:
    """The cause of an error; of an unknown one that ended the session (FATAL) a pooler or the server."""
    if error.sqlstate:
        unknown = Fault.SERVER if error.diag.severity_nonlocalized == "FATAL" else Fault.UNCLEAR
        return CODES.get(error.sqlstate) or CLASSES.get(error.sqlstate[:2], unknown)
    return next((fault for kind, fault in WITHOUT_CODE if isinstance(error, kind)), Fault.UNCLEAR)
