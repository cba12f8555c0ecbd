"""Chaos tools: what the oracle, the proxy and the endings of conversations find."""

from __future__ import annotations

import socket
import socketserver
import struct
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chaos.fleet.proxy import Link, Network
from chaos.fleet.statements import MOST_READ, PreparedStatements
from chaos.laws.endings import wrong_endings
from chaos.laws.observations import DecisionRow, EventKind, Observations, PublishedEvent


class Echo(socketserver.StreamRequestHandler):
    """Sends back what comes."""

    def handle(self) -> None:
        """Until the peer ends."""
        while data := self.request.recv(1024):
            self.request.sendall(data)


@pytest.fixture
def link() -> Iterator[Link]:
    """A link to a server that answers."""
    network = Network()
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Echo) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield network.open_link("worker", lambda: ("127.0.0.1", server.server_address[1]))
        network.stop()
        server.shutdown()


@pytest.fixture
def client(link: Link) -> Iterator[socket.socket]:
    """A connection that has had an answer."""
    with socket.create_connection(("127.0.0.1", link.port), timeout=5) as made:
        made.sendall(b"first")
        assert made.recv(1024) == b"first"
        yield made


def run_on(link: Link, work: Callable[[], object]) -> None:
    """Call on the loop of the link, and wait until it was."""
    done = threading.Event()
    link.loop.call_soon_threadsafe(work)
    link.loop.call_soon_threadsafe(done.set)
    assert done.wait(5)


def test_a_link_that_is_cut_while_bytes_wait_fails_nowhere(link: Link, client: socket.socket) -> None:
    """The bytes are lost with the connection."""
    failures: list[dict[str, Any]] = []
    link.loop.set_exception_handler(lambda _, context: failures.append(context))
    link.latency_s = 0.05
    client.sendall(b"second")
    waits = threading.Event()
    while not link.slowed_bytes:
        waits.wait(0.001)

    run_on(link, link.reset)

    with pytest.raises(ConnectionResetError):
        client.recv(1024)
    waited = threading.Event()
    link.loop.call_soon_threadsafe(link.loop.call_later, 0.1, waited.set)
    assert waited.wait(5)
    assert failures == []


def run_with(questions: int, failed: int) -> Observations:
    """A run of questions of which some had no answer of a model; further events need none."""
    kinds = [EventKind.QUESTION] * questions + [EventKind.OFF] * questions
    reasons = ["LLM_ERROR"] * failed + ["REPLIED"] * (questions - failed) + ["AI_DISABLED"] * questions
    names = [f"e{number}" for number in range(len(kinds))]
    return Observations(
        published={
            name: PublishedEvent(name=name, conversation=name, kind=kind)
            for name, kind in zip(names, kinds, strict=True)
        },
        decisions=tuple(
            DecisionRow(decision_id=f"d-{name}", name=name, decision="ignore", reason=reason)
            for name, reason in zip(names, reasons, strict=True)
        ),
    )


@pytest.mark.parametrize(("questions", "most"), [(34, 12), (120, 12), (130, 13), (294, 29), (1_000, 100)])
def test_a_tenth_of_the_events_that_need_models_may_fail(questions: int, most: int) -> None:
    """In a short run as many as one storm ends; the run of ``make test`` has about 294 that need models."""
    assert not list(wrong_endings(run_with(questions, most)))
    assert list(wrong_endings(run_with(questions, most + 1))) == [
        f"{most + 1} of {questions} events ended as failures of the models"
    ]


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
