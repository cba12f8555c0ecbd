"""The listening socket, on loopback only, and the server that runs on it until a stop signal."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import resource
import socket
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp

BACKLOG = 4096
"""Most connections waiting to be accepted: a load test opens thousands at once."""

KEEP_ALIVE_S = 600
"""Longer than any client keeps an idle connection, so that the sandbox closes none during a request."""


def is_loopback(host: str) -> bool:
    """Whether a host name or address can only be reached from this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_any_host(_host: str) -> bool:
    """True for any host: for a container whose ports are not published."""
    return True


def listening_socket(
    host: str, port: int, *, may_listen: Callable[[str], bool] = is_loopback
) -> socket.socket:
    """A socket listening on a loopback address; port 0 means any free port. ValueError for another host."""
    if not may_listen(host):
        raise ValueError(
            f"host: expected a loopback address (127.0.0.1, ::1 or localhost), got {host!r}. "
            "The sandbox has no authentication and is no model: it is never served to other machines"
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    address = "127.0.0.1" if host == "localhost" else host
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address, port))
    except OSError as error:
        listener.close()
        raise ValueError(f"port: cannot listen on {address}:{port}: {error.strerror}") from error
    listener.listen(BACKLOG)
    return listener


def socket_url(listener: socket.socket) -> str:
    """``http://host:port`` of a listening socket, without a path."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run_server(app: ASGIApp, listener: socket.socket, stop_when_readable: int | None = None) -> None:
    """Serve until SIGTERM or SIGINT, or until the given file descriptor reaches its end."""
    _allow_many_connections()
    config = uvicorn.Config(
        app,
        interface="asgi3",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        ws="none",
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=0,
    )
    server = uvicorn.Server(config)
    with (
        contextlib.suppress(KeyboardInterrupt),
        asyncio.Runner(loop_factory=config.get_loop_factory()) as runner,
    ):
        runner.run(_serve(server, listener, stop_when_readable))


async def _serve(server: uvicorn.Server, listener: socket.socket, stop_when_readable: int | None) -> None:
    if stop_when_readable is not None:
        loop = asyncio.get_running_loop()

        def stop() -> None:
            loop.remove_reader(stop_when_readable)
            server.should_exit = True

        loop.add_reader(stop_when_readable, stop)
    await server.serve(sockets=[listener])


def _allow_many_connections() -> None:
    """Raise the soft limit of open files to the hard one: 1,024 is common and too few."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
