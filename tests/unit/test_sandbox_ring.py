"""The sandbox's ring of requests is bounded in number and in bytes."""

from __future__ import annotations

import pytest

from sandbox import ledger
from sandbox.ledger import Ledger
from sandbox.routes import Route


@pytest.mark.parametrize(("sizes", "oldest"), [([], 1), ([1] * 5, 3), ([4, 4, 4], 2), ([4, 11], 3)])
def test_the_oldest_stored_request_is_known(
    monkeypatch: pytest.MonkeyPatch, sizes: list[int], oldest: int
) -> None:
    """A request that is too large for the ring leaves none; the next one is then the oldest."""
    monkeypatch.setattr(ledger, "MOST_RING_BYTES", 10)
    ring = Ledger(keep_requests=3)
    for size in sizes:
        ring.begin(Route.CHAT, "text", b"x" * size)

    assert ring.oldest_number == oldest
