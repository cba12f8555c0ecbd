"""Where the review pages of this machine are, and whether they answer."""

from __future__ import annotations

import http.client
import socket
import urllib.error
import urllib.request
from typing import Final

USUAL_PORT: Final = 8085
"""That of HUSHGATE_REVIEW_URL when nobody set it."""
DIRECT: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Loopback is never asked for through a proxy."""


def free_address() -> str:
    """An address on loopback that nobody uses: at the usual port, or at any."""
    for port in (USUAL_PORT, 0):
        with socket.socket() as taken:
            taken.setsockopt(
                socket.SOL_SOCKET, socket.SO_REUSEADDR, 1
            )  # a server that has just ended is no obstacle
            try:
                taken.bind(("127.0.0.1", port))
            except OSError:
                continue
            return f"http://127.0.0.1:{taken.getsockname()[1]}"
    raise OSError("no free port on 127.0.0.1")


def status(url: str) -> int | None:
    """The status at this address, redirects followed; None while nobody listens."""
    try:
        with DIRECT.open(url, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        return refused.code
    except (OSError, http.client.HTTPException):
        return None
