"""The sandbox's record of its calls: counts, and the last request bodies in a bounded ring."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass

from sandbox.routes import Route, text_key

MOST_TEXTS = 50_000
"""Most texts with counts of their own; the oldest is dropped first. About 15 MB when full."""

MOST_RING_BYTES = 64 * 1024 * 1024
"""Most bytes of stored request bodies; bodies are stored whole or not at all."""

IN_FLIGHT = "in_flight"
ABANDONED = "abandoned"
BUG = "sandbox_bug"


@dataclass(slots=True, kw_only=True)
class CallRecord:
    """One call in the ring; ``outcome`` is set at its end."""

    number: int
    route: Route
    key: str
    body: bytes
    outcome: str = IN_FLIGHT


class Ledger:
    """Counts calls and stores the newest request bodies; both are bounded."""

    def __init__(self, keep_requests: int) -> None:
        self._keep_requests = keep_requests
        self.forget()

    def forget(self) -> None:
        """Clear all counts and bodies; calls that are still running are no longer counted."""
        self.number = 0
        self.calls: Counter[Route] = Counter()
        self.in_flight: Counter[Route] = Counter()
        self.in_flight_peak: Counter[Route] = Counter()
        self.outcomes: dict[Route, Counter[str]] = {route: Counter() for route in Route}
        self.texts: dict[str, dict[Route, int]] = {}
        self.texts_forgotten = 0
        self._ring: deque[CallRecord] = deque()
        self._ring_bytes = 0

    def begin(self, route: Route, about: str, body: bytes) -> CallRecord:
        """Count a call; return its record."""
        self.number += 1
        self.calls[route] += 1
        running = self.in_flight[route] + 1
        self.in_flight[route] = running
        self.in_flight_peak[route] = max(self.in_flight_peak[route], running)
        record = CallRecord(number=self.number, route=route, key=text_key(about), body=body)
        self._keep(record)
        return record

    def seen(self, route: Route, text: str) -> int:
        """Number of earlier calls of a route about this text."""
        return self.calls_about(text).get(route, 0)

    def count_text(self, route: Route, text: str) -> None:
        """Count a call about this text."""
        by_route = self.texts.setdefault(text_key(text), {})
        by_route[route] = by_route.get(route, 0) + 1
        if len(self.texts) > MOST_TEXTS:
            del self.texts[next(iter(self.texts))]
            self.texts_forgotten += 1

    def end(self, record: CallRecord, outcome: str) -> None:
        """Count how a call ended."""
        record.outcome = outcome
        if self.in_flight[record.route]:
            self.in_flight[record.route] -= 1
        self.outcomes[record.route][outcome] += 1

    def calls_about(self, text: str) -> dict[Route, int]:
        """Calls per route about exactly this text, with its markers."""
        return self.texts.get(text_key(text), {})

    @property
    def oldest_number(self) -> int:
        """The number of the oldest call in the ring; that of the next call when the ring is empty."""
        return self._ring[0].number if self._ring else self.number + 1

    def newest(self) -> Iterator[CallRecord]:
        """The calls in the ring, newest first."""
        return reversed(self._ring)

    def _keep(self, record: CallRecord) -> None:
        self._ring.append(record)
        self._ring_bytes += len(record.body)
        while self._ring and (len(self._ring) > self._keep_requests or self._ring_bytes > MOST_RING_BYTES):
            self._ring_bytes -= len(self._ring.popleft().body)
