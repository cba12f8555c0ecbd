"""Values of an event's texts, each computed once however many steps ask for it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextvars import ContextVar, Token
from functools import wraps
from typing import Any, Final, TypeVar, TypeVarTuple, cast

KEPT_TEXTS: Final = 4096
"""Sentences whose values a process keeps: passages come again beside the drafts of other events."""
Value = TypeVar("Value")
Arguments = TypeVarTuple("Arguments")

_KNOWN: ContextVar[dict[Hashable, Any] | None] = ContextVar("known_values", default=None)
"""The values of the event that this task decides; None outside of an event."""
_MISSING = object()


class TextsReadOnce:
    """Keeps the values of every function marked with ``once`` until the block ends."""

    __slots__ = ("_known", "_token")
    _token: Token[dict[Hashable, Any] | None]

    def __enter__(self) -> None:
        self._known: dict[Hashable, Any] = {}
        self._token = _KNOWN.set(self._known)

    def __exit__(self, *_: object) -> None:
        _KNOWN.reset(self._token)
        self._known.clear()  # a timer of a library may keep the context


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
