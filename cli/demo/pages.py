"""Where the review pages of this machine are, and whether they answer."""

from __future__ import annotations

import atexit
import http.client
import socket
import urllib.error
import urllib.request
from typing import Final

USUAL_PORT: Final = 8085
"""That of HUSHGATE_REVIEW_URL when nobody set it."""
DIRECT: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Loopback is never asked for through a proxy."""


_SIGN: Final = socket.socket(socket.AF_UNIX)
atexit.register(_SIGN.close)
"""Bound to a name of the abstract namespace while this process means to use the usual port."""


def address() -> str:
    """Where a demo serves its pages: at the usual port, or at a free one while somebody else has that."""
    try:
        _SIGN.bind(f"\0hushgate review {USUAL_PORT}")  # of two demos that start at once, one gets it
        return _free(USUAL_PORT)
    except OSError:
        return free_address()


def free_address() -> str:
    """An address on loopback that nobody uses."""
    return _free(0)


def _free(port: int) -> str:
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # one that has just ended is no obstacle
        taken.bind(("127.0.0.1", port))
        return f"http://127.0.0.1:{taken.getsockname()[1]}"


def status(url: str) -> int | None:
    """The status at this address, redirects followed; None while nobody listens."""
    try:
        with DIRECT.open(url, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        return refused.code
    except (OSError, http.client.HTTPException):
        return None
