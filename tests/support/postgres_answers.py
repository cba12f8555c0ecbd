"""A server that speaks the start of the protocol of Postgres: it refuses a login, or names itself."""

from __future__ import annotations

import socketserver
import struct
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

PLAIN_REQUESTS: Final = frozenset({80877103, 80877104})
"""Codes that ask for encryption, by TLS or GSS."""


@contextmanager
def postgres_answering(
    refusal: str = "", *, code: str = "08P01", end: str = "", **parameters: str
) -> Iterator[str]:
    """The address of a server that ends each login with this refusal, or takes it and sends parameters.

    The first statement ends the session, with the words ``end`` of a pooler.
    """

    class Handler(socketserver.StreamRequestHandler):
        """One connection."""

        def handle(self) -> None:
            """Answer the login and the first statement."""
            while _code(start := self.rfile.read(8)) in PLAIN_REQUESTS:
                self.wfile.write(b"N")
            self.rfile.read(int.from_bytes(start[:4]) - 8)
            self.wfile.write(_refused(refusal, code) if refusal else _accepted(parameters))
            if self.rfile.read(1) and end:
                self.wfile.write(_refused(end, "XX000"))

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield f"postgresql://someone:secret@127.0.0.1:{server.server_address[1]}/shop"
        finally:
            server.shutdown()


def _code(start: bytes) -> int:
    return int.from_bytes(start[4:])


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body


def _refused(words: str, code: str) -> bytes:
    return _message(b"E", f"SFATAL\0VFATAL\0C{code}\0M{words}\0\0".encode())


def _accepted(parameters: Mapping[str, str]) -> bytes:
    named = b"".join(_message(b"S", f"{name}\0{value}\0".encode()) for name, value in parameters.items())
    return _message(b"R", bytes(4)) + named + _message(b"K", bytes(8)) + _message(b"Z", b"I")
