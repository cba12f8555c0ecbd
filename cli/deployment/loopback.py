"""Ports and addresses of this machine: what is free, and what answers."""

from __future__ import annotations

import http.client
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from worker.errors import ConfigurationError

USUAL_PORT: Final = 8085
"""The port in the default of HUSHGATE_REVIEW_URL."""
GATEWAY_PORT: Final = 8086
REVIEW_PORT: Final = "set HUSHGATE_REVIEW_URL to another port"
DIRECT: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Loopback is never reached through a proxy."""


def require_free(host: str, port: int, *, name: str = "review pages", change: str = REVIEW_PORT) -> None:
    """Return when a server could listen there now; ``change`` says how to choose another port.

    Raises:
        ConfigurationError: the port is in use, or the address is not of this machine.
    """
    try:
        _bound_port(host, port)
    except OSError as error:
        raise ConfigurationError(
            f"{name}: expected port {port} on {host} to be free, got: {error.strerror};"
            f" {change}, or stop the process that listens there"
        ) from error


@contextmanager
def review_address() -> Iterator[str]:
    """The address of a demo's pages: the usual port, or a free port while another demo uses that."""
    with socket.socket(socket.AF_UNIX) as sign:
        try:
            sign.bind(f"\0hushgate review {USUAL_PORT}")  # of two demos that start at once, one gets it
        except OSError:
            yield free_address()
        else:
            yield address_or_free(USUAL_PORT)


def address_or_free(port: int) -> str:
    """The address of a port on loopback, or of a free port while that port is in use."""
    try:
        return _address(port)
    except OSError:
        return free_address()


def free_address() -> str:
    """An unused address on loopback."""
    return _address(0)


def status(url: str) -> int | None:
    """The status at this address, redirects followed; None while no server listens."""
    try:
        with DIRECT.open(url, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        return refused.code
    except (OSError, http.client.HTTPException):
        return None


def _address(port: int) -> str:
    return f"http://127.0.0.1:{_bound_port('127.0.0.1', port)}"


def _bound_port(host: str, port: int) -> int:
    """The port, after a trial that a server can listen there; 0 takes a free port."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # one that has just ended is no obstacle
        trial.bind((host, port))
        return int(trial.getsockname()[1])
