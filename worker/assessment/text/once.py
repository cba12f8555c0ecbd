"""Values of an event's texts, each computed once however many steps ask for it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, Final, TypeVar, TypeVarTuple, cast

KEPT_TEXTS: Final = 4096
"""Sentences whose values a process keeps: passages come again beside the drafts of other events."""
Value = TypeVar("Value")
Arguments = TypeVarTuple("Arguments")

_KNOWN: ContextVar[dict[Hashable, Any] | None] = ContextVar("known_values", default=None)
"""The values of the event that this task decides; None outside of an event."""
_MISSING = object()


@contextmanager
def texts_read_once() -> Iterator[None]:
    """Keep the values of every function marked with ``once`` until the block ends."""
    known: dict[Hashable, Any] = {}
    token = _KNOWN.set(known)
    try:
        yield
    finally:
        _KNOWN.reset(token)
        known.clear()  # a timer of a library may keep the context


def once(function: Callable[[*Arguments], Value]) -> Callable[[*Arguments], Value]:
    """A pure function of hashable arguments whose immutable value is computed once per event."""

    @wraps(function)
    def kept(*arguments: *Arguments) -> Value:
        known = _KNOWN.get()
        if known is None:
            return function(*arguments)
        key = (function, *arguments)
        found = known.get(key, _MISSING)
        if found is _MISSING:
            found = known[key] = function(*arguments)
        return cast("Value", found)

    return kept
