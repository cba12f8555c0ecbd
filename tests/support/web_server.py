"""An application on loopback, served in a thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from tests.support.running import eventually


@contextmanager
def web_server(app: Any, **options: Any) -> Iterator[uvicorn.Server]:
    """Serve on a free port while the context lasts; ``options`` are those of uvicorn."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, **options))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        eventually(lambda: server.started or not thread.is_alive(), "the application")
        yield server
    finally:
        server.should_exit = True
        thread.join()


def port_of(server: uvicorn.Server) -> int:
    """Where a server listens."""
    found: int = server.servers[0].sockets[0].getsockname()[1]
    return found
