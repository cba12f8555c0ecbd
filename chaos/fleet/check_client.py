"""A program that asks for checks at the gateway, each by one id until it has the verdict, then once more."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Final

import orjson

from chaos.fleet.seeding import ANSWERS, KEYWORD, SHOP
from chaos.fleet.world import Interrupted, World
from chaos.kinds import Role
from chaos.laws.observations import SeenVerdict

STOPPED: Final = (f"this is {KEYWORD}", "I will kill you")
CHECKS: Final = "/v1/checks"
PAUSE_S: Final = 0.1
RETRY_S: Final = 0.3


class CheckClient:
    """Asks for one check after the other until the world stops, so that most faults meet one under way.

    Attributes:
        asked: name of a check -> whether its text must be stopped.
        verdicts: the answers; a refusal (4xx) is one too.
        unanswered: requests without a verdict, which were repeated.
    """

    def __init__(self, world: World) -> None:
        self.asked: dict[str, bool] = {}
        self.verdicts: list[SeenVerdict] = []
        self.unanswered = 0
        self._world = world
        self.thread = threading.Thread(target=self._run, name="checks", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        questions = tuple(ANSWERS)
        with suppress(Interrupted):
            while True:
                number = len(self.asked)
                question = questions[number % len(questions)]
                stopped = number % 3 == 0
                message = STOPPED[number % len(STOPPED)] if stopped else question
                self._check(message, draft=ANSWERS[question], stopped=stopped)
                self._world.pause(PAUSE_S)

    def _check(self, message: str, *, draft: str, stopped: bool) -> None:
        name = f"k{self._world.plan.seed}.{len(self.asked)}"
        self.asked[name] = stopped
        body = {"id": name, "user_id": SHOP, "message": message, "draft": draft, "search": True}
        for _ in range(2):
            self.verdicts.append(self._verdict(name, orjson.dumps(body)))

    def _verdict(self, name: str, body: bytes) -> SeenVerdict:
        while True:
            status, answer = self._world.post(Role.GATEWAY, CHECKS, body)
            if status == 200:
                found = orjson.loads(answer)
                return SeenVerdict(name=name, decision_id=found["decision_id"], verdict=found["verdict"])
            if 400 <= status < 500:
                return SeenVerdict(name=name, decision_id="", verdict=f"status {status}")
            self.unanswered += 1
            self._world.pause(RETRY_S)
