"""The one cache in memory: a mapping of bounded size, from which leaves what was not used for longest."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Kept = TypeVar("Kept")


class Recent(Generic[Key, Kept]):
    """Values by key.

    Args:
        most: largest weight of all values together.
        weight: of a value, which must not change; each weighs 1 unless given.
    """

    def __init__(self, most: int, weight: Callable[[Kept], int] = lambda _: 1) -> None:
        self._most = most
        self._weight = weight
        self._values: OrderedDict[Key, Kept] = OrderedDict()
        self.size = 0

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
        self.drop(key)
        self._values[key] = value
        self.size += self._weight(value)
        while self.size > self._most and self._values:
            self.size -= self._weight(self._values.popitem(last=False)[1])
        return value

    def drop(self, key: Key) -> None:
        """Forget the value of a key, if there is one."""
        if key in self._values:
            self.size -= self._weight(self._values.pop(key))

    def clear(self) -> None:
        """Forget all."""
        self._values.clear()
        self.size = 0
