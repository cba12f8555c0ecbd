"""A server that speaks the start of the protocol of Redis, and gives each command one answer."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def redis_answering(answer: str) -> Iterator[str]:
    """The address of the server."""

    class Handler(socketserver.StreamRequestHandler):
        """One connection."""

        def handle(self) -> None:
            """Answer each command."""
            while line := self.rfile.readline():
                for _ in range(int(line[1:])):
                    self.rfile.read(int(self.rfile.readline()[1:]) + 2)
                self.wfile.write(f"{answer}\r\n".encode())

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield f"redis://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
