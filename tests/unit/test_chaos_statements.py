"""Prepared statements, read from the bytes that a client of Postgres sends."""

from __future__ import annotations

import struct

import pytest

from chaos.fleet.statements import MOST_READ, PreparedStatements

STARTUP = struct.pack("!II", 8 + len(b"user\0kim\0\0"), 196_608) + b"user\0kim\0\0"


def message(kind: bytes, body: bytes) -> bytes:
    """One message after the first."""
    return kind + struct.pack("!I", 4 + len(body)) + body


def parse(name: bytes, sql: bytes = b"SELECT 1") -> bytes:
    """A statement to prepare."""
    return message(b"P", name + b"\0" + sql + b"\0\0\0")


LONG = b"x" * 3 * MOST_READ
SESSION = (
    *(STARTUP, message(b"p", b"secret\0")),
    *(parse(b""), parse(b"_pg3_0"), parse(b"_pg3_1", LONG), message(b"B", b"\0_pg3_1\0")),
    *(message(b"C", b"P_pg3_1\0"), message(b"C", b"S_pg3_0\0"), message(b"S", b"")),
    *(parse(b"_pg3_2"), parse(b"_pg3_3")),
    *(message(b"Q", b'DEALLOCATE "_pg3_2"\0'), message(b"Q", b"SELECT 1\0")),
)


@pytest.mark.parametrize("size", [1, 7, 4_096, 1 << 20])
def test_names_are_read_however_the_bytes_are_cut(size: int) -> None:
    """Unnamed statements and closed portals do not count; a long statement is not kept."""
    sent, statements = b"".join(SESSION), PreparedStatements()
    for start in range(0, len(sent), size):
        statements.feed(sent[start : start + size])

    assert statements.names == {b"_pg3_1", b"_pg3_3"}


def test_all_statements_can_be_deallocated_at_once() -> None:
    """As psycopg does after a rollback."""
    statements = PreparedStatements()
    statements.feed(STARTUP + parse(b"_pg3_0") + parse(b"_pg3_1"))
    assert len(statements.names) == 2

    statements.feed(message(b"Q", b"DEALLOCATE ALL\0"))

    assert not statements.names
