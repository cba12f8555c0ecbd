"""The address of the review pages on this machine, and whether they answer."""

from __future__ import annotations

import http.client
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

USUAL_PORT: Final = 8085
"""The port in the default of HUSHGATE_REVIEW_URL."""
DIRECT: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Loopback is never reached through a proxy."""


@contextmanager
def address() -> Iterator[str]:
    """The address of a demo's pages: the usual port, or a free port while another demo uses that."""
    with socket.socket(socket.AF_UNIX) as sign:
        try:
            sign.bind(f"\0hushgate review {USUAL_PORT}")  # of two demos that start at once, one gets it
            found = _free(USUAL_PORT)
        except OSError:
            found = free_address()
        yield found


def free_address() -> str:
    """An unused address on loopback."""
    return _free(0)


def _free(port: int) -> str:
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # one that has just ended is no obstacle
        taken.bind(("127.0.0.1", port))
        return f"http://127.0.0.1:{taken.getsockname()[1]}"


def status(url: str) -> int | None:
    """The status at this address, redirects followed; None while no server listens."""
    try:
        with DIRECT.open(url, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        return refused.code
    except (OSError, http.client.HTTPException):
        return None
