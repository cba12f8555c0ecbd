"""The Merkle tree of RFC 6962: hashes, roots and inclusion proofs.

The tree of n leaves splits at the largest power of two below n. Complete subtrees of 256, 65,536, ... leaves
are stored, so that a root or a proof needs at most 255 hashes of each such height.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

STORED_STEP: Final = 8
"""Heights whose complete subtrees are stored: every eighth, as C2SP tlog-tiles does."""
EMPTY_ROOT: Final = hashlib.sha256(b"").digest()


@dataclass(frozen=True, slots=True)
class Subtree:
    """A complete subtree: ``2 ** height`` leaves, the ``position``-th of its height from the left."""

    height: int
    position: int


Hashes: TypeAlias = Mapping[Subtree, bytes]
"""The hashes of subtrees; height 0 is a leaf."""


def leaf_hash(data: bytes) -> bytes:
    """The hash of a leaf, RFC 6962 section 2.1."""
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of an inner node, RFC 6962 section 2.1."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def root_of(parts: Sequence[tuple[int, bytes]]) -> bytes:
    """The root over neighbouring complete subtrees, heights not rising from left to right."""
    stack: list[tuple[int, bytes]] = []
    for height, digest in parts:
        stack.append((height, digest))
        while len(stack) > 1 and stack[-1][0] == stack[-2][0]:
            (_, right), (same, left) = stack.pop(), stack.pop()
            stack.append((same + 1, node_hash(left, right)))
    if not stack:
        return EMPTY_ROOT
    _, root = stack.pop()
    while stack:
        root = node_hash(stack.pop()[1], root)
    return root


def stored_parts(start: int, end: int) -> Iterator[Subtree]:
    """The stored subtrees, leaves included, that make up leaves ``start`` to ``end`` of one node."""
    while start < end:
        height = 0
        while start % (1 << (height + STORED_STEP)) == 0 and start + (1 << (height + STORED_STEP)) <= end:
            height += STORED_STEP
        yield Subtree(height, start >> height)
        start += 1 << height


def completed(size: int, added: int) -> Iterator[tuple[Subtree, tuple[Subtree, ...]]]:
    """The stored subtrees above leaves that become complete when ``added`` leaves follow ``size``.

    Each comes with the 256 subtrees below it; lower ones first.
    """
    height = STORED_STEP
    while (size + added) >> height:
        for position in range(size >> height, (size + added) >> height):
            below = range(position << STORED_STEP, (position + 1) << STORED_STEP)
            yield Subtree(height, position), tuple(Subtree(height - STORED_STEP, each) for each in below)
        height += STORED_STEP


def root_hash(size: int, hashes: Hashes) -> bytes:
    """The root of the first ``size`` leaves; ``hashes`` has ``stored_parts(0, size)``."""
    return _range_hash(0, size, hashes)


def siblings(position: int, size: int) -> tuple[tuple[int, int], ...]:
    """The ranges of leaves whose hashes prove a leaf, the lowest first; RFC 6962 section 2.1.1.

    Raises:
        ValueError: the tree has no such leaf.
    """
    if not 0 <= position < size:
        raise ValueError(f"position: expected 0 to {size - 1}, got {position}")
    start, end, found = 0, size, []
    while end - start > 1:
        middle = start + (1 << ((end - start - 1).bit_length() - 1))
        if position < middle:
            found.append((middle, end))
            end = middle
        else:
            found.append((start, middle))
            start = middle
    return tuple(reversed(found))


def proof(position: int, size: int, hashes: Hashes) -> tuple[bytes, ...]:
    """The inclusion proof of a leaf; ``hashes`` has ``stored_parts`` of each range of ``siblings``."""
    return tuple(_range_hash(start, end, hashes) for start, end in siblings(position, size))


def _range_hash(start: int, end: int, hashes: Hashes) -> bytes:
    return root_of([(part.height, hashes[part]) for part in stored_parts(start, end)])
