"""Garbage that only a full collection finds."""

from __future__ import annotations

import gc
import weakref


class Node:
    """Refers to itself."""

    def __init__(self) -> None:
        self.itself = self


def old_garbage() -> weakref.ref[Node]:
    """Of the oldest generation: the collector's own runs seldom look at it."""
    node = Node()
    gc.collect(1)
    gc.collect(1)
    found = weakref.ref(node)
    del node
    gc.collect(1)
    assert found() is not None
    return found
