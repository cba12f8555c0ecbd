"""A bounded cache of compiled rule sets, least recently used first out; no clock, no I/O."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from worker.rules.compiled import CompiledRules


class RuleCache:
    """The newest compiled set of each account, at most ``max_entries`` of them.

    A set is never changed, only replaced by reference: a caller that holds one goes on with it.
    """

    def __init__(self, max_entries: int) -> None:
        if max_entries < 1:
            raise ValueError(f"max_entries: expected at least 1, got {max_entries}")
        self.max_entries = max_entries
        self._sets: OrderedDict[str, CompiledRules] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._sets)

    def get(self, account: str, version: int) -> CompiledRules | None:
        """The account's set at exactly that version, or None."""
        with self._lock:
            found = self._sets.get(account)
            if found is None or found.version != version:
                return None
            self._sets.move_to_end(account)
            return found

    def put(self, account: str, rules: CompiledRules) -> None:
        """Keeps the set unless a newer version of the account is kept already."""
        with self._lock:
            kept = self._sets.get(account)
            if kept is not None and kept.version > rules.version:
                return
            self._sets[account] = rules
            self._sets.move_to_end(account)
            while len(self._sets) > self.max_entries:
                self._sets.popitem(last=False)

    def get_or_compile(self, account: str, version: int, make: Callable[[], CompiledRules]) -> CompiledRules:
        """The account's set at that version, made now when it is not kept; ``make`` runs outside the lock."""
        found = self.get(account, version)
        if found is None:
            found = make()
            self.put(account, found)
        return found

    def forget(self, account: str) -> None:
        """Drops the account's set, for an erased account."""
        with self._lock:
            self._sets.pop(account, None)
