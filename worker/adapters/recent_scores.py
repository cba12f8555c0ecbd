"""Recent moderation results by text; bounded, in memory, and of one model."""

from __future__ import annotations

from typing import Final

from worker.model import ModerationScores
from worker.recent import Recent

MOST_RESULTS: Final = 5_000
"""About 8 MB."""


class RecentScores:
    """Results of the last ``reuse_s`` seconds; all are dropped when the server answers with another model."""

    def __init__(self, reuse_s: float, *, most: int = MOST_RESULTS) -> None:
        self._reuse_s = reuse_s
        self._model = ""
        self._results: Recent[bytes, tuple[float, ModerationScores]] = Recent(most)

    def get(self, key: bytes, now_s: float) -> ModerationScores | None:
        """The result for a text, or None."""
        found = self._results.get(key)
        return found[1] if found is not None and now_s < found[0] + self._reuse_s else None

    def put(self, key: bytes, scores: ModerationScores, now_s: float) -> None:
        """Keep a result in place of those that were not used for longest."""
        if scores.model != self._model:
            self._results.clear()
            self._model = scores.model
        self._results.keep(key, (now_s, scores))
