"""Looks at the requests that models and judges were sent, for marks of earlier events."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, cast

from chaos.fleet.world import KEEP_REQUESTS, World
from chaos.laws.observations import MARK, MARKED

LOOK_S: Final = 1.0
MODELS: Final = frozenset({"chat", "judge"})
STORED: Final = f"requests?last={KEEP_REQUESTS}&contains={MARK}"


class PromptWatch:
    """Reads the sandbox's newest requests every second.

    Attributes:
        residue: names of events whose mark was in a request about another event.
        looked_at: requests with a mark that were looked at.
        missed: requests that had left the sandbox's ring before they could be looked at.
    """

    def __init__(self, world: World) -> None:
        self.residue: set[str] = set()
        self.looked_at = self.missed = self._newest = 0
        self._world = world
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="prompts", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._ended.wait(LOOK_S):
            with suppress(OSError):  # Ctrl-C ends the sandbox too
                self.look()

    def look(self) -> None:
        """Look at the requests since the last look."""
        stored = cast("Mapping[str, Any]", self._world.sandbox.control("GET", STORED))
        self.missed += max(0, stored["oldest_number"] - self._newest - 1)
        for request in stored["requests"]:
            if request["number"] > self._newest and request["route"] in MODELS:
                self.looked_at += 1
                marks = foreign_marks(request["body"])
                self.residue |= {f"e{self._world.plan.seed}.{mark}" for mark in marks}
        self._newest = stored["newest_number"]

    def stop(self) -> None:
        """Look once more, and end the thread."""
        self._ended.set()
        self._thread.join(15)
        with suppress(OSError):
            self.look()


def foreign_marks(body: Mapping[str, Any]) -> set[str]:
    """Marks in the messages of a request that are not in its last message of an author."""
    messages = body["messages"]
    own = next((str(each["content"]) for each in reversed(messages) if each["role"] == "user"), "")
    every = set(MARKED.findall(" ".join(str(each.get("content")) for each in messages)))
    return every - set(MARKED.findall(own))
