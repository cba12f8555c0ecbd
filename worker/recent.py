"""The one cache in memory: a mapping of bounded size, from which leaves what was not used for longest."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Kept = TypeVar("Kept")


class Recent(Generic[Key, Kept]):
    """At most ``most`` values by key."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Key, Kept] = OrderedDict()

    def __contains__(self, key: Key) -> bool:
        return key in self._values

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Key) -> Kept | None:
        """The value of a key, which counts as its use."""
        if key in self._values:
            self._values.move_to_end(key)
        return self._values.get(key)

    def keep(self, key: Key, value: Kept) -> Kept:
        """Keep a value, also in place of others; the value."""
        self._values[key] = value
        self._values.move_to_end(key)
        while len(self._values) > self._most:
            self._values.popitem(last=False)
        return value

    def drop(self, key: Key) -> None:
        """Forget the value of a key, if there is one."""
        self._values.pop(key, None)

    def clear(self) -> None:
        """Forget all."""
        self._values.clear()
