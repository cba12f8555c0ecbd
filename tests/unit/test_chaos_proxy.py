"""The proxy of chaos runs: what faults do to a connection, and that it fails nowhere itself."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chaos.fleet.proxy import Link, Network


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
