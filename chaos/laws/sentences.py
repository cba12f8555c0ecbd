"""Sentences of laws, one for each thing that breaks one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator


def each(what: str, found: Iterable[object]) -> Iterator[str]:
    """``what: thing``, in the order of the names of the things."""
    return (f"{what}: {thing}" for thing in sorted(map(str, found)))


def repeated(counts: Counter[object] | Counter[str] | Counter[tuple[str, bool]]) -> set[object]:
    """What is there more than once."""
    return {thing for thing, count in counts.items() if count > 1}
