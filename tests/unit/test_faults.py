"""Whose fault each error of Postgres is, over every SQLSTATE that psycopg knows."""

from __future__ import annotations

from typing import Final

import psycopg
import pytest
from psycopg.errors import _sqlcodes
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from db.faults import Fault, fault_of
from tests.support.postgres_answers import postgres_answering

SERVER, UNCLEAR, INPUT = Fault.SERVER, Fault.UNCLEAR, Fault.INPUT
KNOWN: Final = {code: kind for code, kind in _sqlcodes.items() if len(code) == 5 and kind.sqlstate == code}
EXPECTED: Final = {
    "02": UNCLEAR,
    "03": UNCLEAR,
    "08": SERVER,
    "09": UNCLEAR,
    "0A": SERVER,
    "0B": UNCLEAR,
    "0F": UNCLEAR,
    "0L": SERVER,
    "0P": SERVER,
    "0Z": UNCLEAR,
    "10": INPUT,
    "20": INPUT,
    "21": INPUT,
    "22": INPUT,
    "23": INPUT,
    "24": UNCLEAR,
    "25": SERVER,
    "26": SERVER,
    "27": UNCLEAR,
    "28": SERVER,
    "2B": UNCLEAR,
    "2D": UNCLEAR,
    "2F": UNCLEAR,
    "34": UNCLEAR,
    "38": UNCLEAR,
    "39": UNCLEAR,
    "3B": UNCLEAR,
    "3D": SERVER,
    "3F": SERVER,
    "40": SERVER,
    "42": UNCLEAR,
    "44": INPUT,
    "53": SERVER,
    "54": INPUT,
    "55": SERVER,
    "57": SERVER,
    "58": SERVER,
    "72": SERVER,
    "F0": SERVER,
    "HV": UNCLEAR,
    "P0": INPUT,
    "XX": UNCLEAR,
}
"""Every class, stated here once more on purpose: who changes the table changes what becomes a dead letter."""

APART: Final = {
    "2200H": SERVER,
    "25P04": UNCLEAR,
    "57014": UNCLEAR,
    "42501": SERVER,
    "42703": SERVER,
    "42704": SERVER,
    "42883": SERVER,
    "42P01": SERVER,
    "42P05": SERVER,
}


def test_every_class_that_psycopg_knows_is_in_the_table() -> None:
    """A class that a new version adds must be thought about here."""
    assert {code[:2] for code in KNOWN} == EXPECTED.keys()
    assert len(KNOWN) > 240


@pytest.mark.parametrize("code", KNOWN)
def test_fault_of_an_sqlstate(code: str) -> None:
    """The code decides, then its class."""
    assert fault_of(KNOWN[code]("text")) is APART.get(code, EXPECTED[code[:2]])


@pytest.mark.parametrize("code", ["ZZ999", "99999", "XX999", "42ZZZ"])
def test_a_code_that_nobody_knows_is_tried_again(code: str) -> None:
    """The default is an outage that may be data: nothing is buried at once, nothing loops for ever."""
    error = psycopg.DatabaseError("text")
    error.sqlstate = code

    assert fault_of(error) is UNCLEAR


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (psycopg.OperationalError("the connection is lost"), SERVER),
        (psycopg.InterfaceError("the connection is closed"), SERVER),
        (PoolTimeout(), SERVER),
        (PoolClosed(), SERVER),
        (TooManyRequests(), SERVER),
        (psycopg.DataError("text cannot contain NUL"), INPUT),
        (psycopg.ProgrammingError("cannot adapt type"), INPUT),
        (psycopg.DatabaseError("no result"), UNCLEAR),
    ],
)
def test_fault_of_an_error_without_code(error: psycopg.Error, fault: Fault) -> None:
    """What psycopg and its pool raise on their own."""
    assert fault_of(error) is fault


def test_an_unknown_error_that_ends_the_session_is_no_fault_of_the_input() -> None:
    """Poolers end sessions with a code of their own (pgflow#5); the same code of one statement is unclear."""
    version = {"client_encoding": "UTF8", "server_encoding": "UTF8", "server_version": "17.2"}
    with (
        postgres_answering(end="DbHandler exited", **version) as url,
        psycopg.connect(url) as connection,
        pytest.raises(psycopg.errors.InternalError_, match="DbHandler exited") as ended,
    ):
        connection.execute("SELECT 1")

    assert (fault_of(ended.value), fault_of(KNOWN["XX000"]("text"))) == (SERVER, UNCLEAR)
