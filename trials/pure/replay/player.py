"""Plays a recording: the ports answer as they did, and the clock moves as it did.

Calls that ran at once end in the recorded order, and none ends before the calls that had begun by then have
begun again. So a race of moderators has the same winner, whatever the machine does meanwhile.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from worker.cancellation import cancel_all
from worker.moderation_holds import Holds
from worker.ports import Ports
from worker.recordings.asked import AskedPort, PortCall
from worker.recordings.recording import AnswerMissing, Port, RecordedAnswer, RecordedOutcome, Recording
from worker.recordings.stored import request_key

QUIET_ROUNDS: Final = 25
"""Rounds of the event loop without progress after which a call that was not made again is passed over.

A replay with other settings leaves calls out. From the end of one call to the begin of the next the engine
takes fewer than ten rounds.
"""


@dataclass(slots=True, kw_only=True)
class Player:
    """The answers of one recording, in their order.

    Attributes:
        live: asked where the recording has no answer; None: such a request raises ``AnswerMissing``.
        asked: ports that were asked live, in order.
    """

    recording: Recording
    decision_id: UUID
    live: Ports | None = None
    asked: list[str] = field(default_factory=list)
    _queues: dict[tuple[str, str], deque[int]] = field(init=False)
    _done: set[int] = field(default_factory=set)
    _passed: set[int] = field(default_factory=set)
    _next: int = 0
    _begun: int = 0
    _moves: int = 0
    _live_calls: int = 0
    _waiting: dict[int, asyncio.Future[bool]] = field(default_factory=dict)
    _watch: asyncio.Task[None] | None = None
    _live_ended: asyncio.Event = field(default_factory=asyncio.Event)
    clock: PlayedClock = field(init=False)

    def __post_init__(self) -> None:
        self.clock = PlayedClock(player=self)
        self._queues = defaultdict(deque)
        by_begin = sorted(enumerate(self.recording.answers), key=lambda each: each[1].number)
        for place, answer in by_begin:
            self._queues[answer.port, answer.request].append(place)
        self._advance()

    @property
    def ports(self) -> Ports:
        """The ports to decide with: those that the recording saw, and those that may be asked."""
        deployment, live = self.recording.deployment, self.live
        has_moderator = deployment.moderator or (live is not None and live.moderator is not None)
        has_judge = deployment.judge or (live is not None and live.judge is not None)
        classifiers = [*deployment.classifiers, *(live.classifiers if live else ())]
        models = [*deployment.models, *(live.models if live else ())]
        return Ports(
            clock=self.clock,
            moderator=AskedPort(self, Port.MODERATOR, live and live.moderator) if has_moderator else None,
            model=AskedPort(self, Port.MODEL, live and live.model),
            retriever=AskedPort(self, Port.SEARCH, live and live.retriever),
            conversations=AskedPort(self, Port.HISTORY, live and live.conversations),
            judge=AskedPort(self, Port.JUDGE, live and live.judge) if has_judge else None,
            arrivals=AskedPort(self, Port.ARRIVALS) if deployment.arrivals else None,
            classifiers={
                name: AskedPort(self, Port.CLASSIFIER.named(name), live and live.classifiers.get(name))
                for name in dict.fromkeys(classifiers)
            },
            models={
                name: AskedPort(self, Port.MODEL.named(name), live and live.models.get(name))
                for name in dict.fromkeys(models)
            },
            retry=deployment.retry,
            limits=deployment.limits,
            holds=Holds(),
        )

    async def ask(self, port: str, request: object, call: PortCall | None, *given: Any, **named: Any) -> Any:
        """The recorded answer of a port; without one the answer of the port behind.

        Raises:
            AnswerMissing: there is neither.
        """
        place = self._place(port, request)
        self._begun += 1
        self._moves += 1
        if place is None or not await self._turn(place):
            return await self._asked_live(port, call, given, named)
        answer = self.recording.answers[place]
        self.clock.move(place)
        self._end(place)
        if answer.outcome is RecordedOutcome.ERROR:
            raise answer.value
        return answer.value

    async def close(self) -> None:
        """End what may still wait."""
        if self._watch is not None:
            await cancel_all([self._watch])

    def _place(self, port: str, request: object) -> int | None:
        queue = self._queues.get((port, request_key(request)))
        return queue.popleft() if queue else None

    async def _asked_live(self, port: str, call: PortCall | None, given: Any, named: Any) -> Any:
        if port == Port.SLEEP:
            return None
        if port == Port.ARRIVALS:
            return ()  # what came meanwhile is known from the recorded answers only
        if call is None:
            raise AnswerMissing(port)
        self.asked.append(port)
        self._live_calls += 1
        try:
            return await call(*given, **named)
        finally:
            self._live_calls -= 1
            self._moves += 1
            self._live_ended.set()

    async def _turn(self, place: int) -> bool:
        """Return True when the call may end; False when its answer was never given."""
        if self.recording.answers[place].at_once:
            return True
        while not self._may_end(place):
            waits = self._waiting[place] = asyncio.get_running_loop().create_future()
            if self._watch is None or self._watch.done():
                self._watch = asyncio.create_task(self._watched())
            self.release()
            try:
                if waits.done():  # the call before this one goes first
                    await asyncio.sleep(0)
                has_answer: bool = await waits
            finally:
                self._waiting.pop(place, None)
                self._moves += 1
            if not has_answer or place in self._passed:
                return has_answer
        return True

    def _may_end(self, place: int) -> bool:
        if place > self._next or self._outcome(place) is RecordedOutcome.ENDED:
            return False
        return place < self._next or self._has_begun(place)

    def _has_begun(self, place: int) -> bool:
        """Whether all that happened before the end of the recorded call has happened again."""
        answer = self.recording.answers[place]
        return self._begun >= answer.begun and self.clock.has_reached(answer)

    def _end(self, place: int) -> None:
        self._done.add(place)
        self._moves += 1
        self._advance()
        self.release()

    def _advance(self) -> None:
        """Go to the next call that has not ended; cancelled ones end when the engine cancels them again."""
        answers = self.recording.answers
        while self._next < len(answers) and (
            self._next in self._done or answers[self._next].outcome is RecordedOutcome.ENDED
        ):
            self._next += 1

    def release(self) -> None:
        """Wake the next call when it may end, and those behind it, which may end in the same round."""
        first = self._waiting.get(self._next)
        if first is None or first.done() or not self._may_end(self._next):
            return
        for place in sorted(self._waiting):
            waits = self._waiting[place]
            if not waits.done() and self._outcome(place) is not RecordedOutcome.ENDED:
                waits.set_result(True)

    async def _watched(self) -> None:
        """Let the earliest call end when the engine does nothing else: those before it are not made again."""
        quiet, seen = 0, -1
        while self._waiting:
            if self._live_calls:
                self._live_ended.clear()
                await self._live_ended.wait()
            await asyncio.sleep(0)
            self.release()
            quiet, seen = (quiet + 1, seen) if seen == self._moves else (0, self._moves)
            if quiet >= QUIET_ROUNDS:
                self._pass_over()
                quiet = 0

    def _pass_over(self) -> None:
        """Let the first call that waits end, or fail when it was never answered."""
        waiting = sorted(place for place, waits in self._waiting.items() if not waits.done())
        answered = [place for place in waiting if self._outcome(place) is not RecordedOutcome.ENDED]
        for place in (answered or waiting)[:1]:
            self._next = max(self._next, place) if answered else self._next
            self._passed.add(place)
            self._waiting[place].set_result(bool(answered))

    def _outcome(self, place: int) -> RecordedOutcome:
        return self.recording.answers[place].outcome


@dataclass(slots=True)
class PlayedClock:
    """A clock that shows the recorded readings; between two answers as many as were read then.

    A replay that reads more often sees the last one again, so time stands still where the recording is left.
    """

    player: Player
    _walls: int = 0
    _monotonics: int = 0
    _answer: int = -1
    _last_wall: int = 0
    _last_monotonic: int = 0

    def now(self) -> datetime:
        """The wall clock, UTC."""
        recording = self.player.recording
        if self._walls < self._bound("walls", len(recording.walls)):
            self._last_wall = recording.walls[self._walls]
            self._walls += 1
            self.player.release()
        return recording.started_at + timedelta(microseconds=self._last_wall)

    def monotonic(self) -> float:
        """Seconds since the begin of the recording."""
        recording = self.player.recording
        if self._monotonics < self._bound("monotonics", len(recording.monotonics)):
            self._last_monotonic = recording.monotonics[self._monotonics]
            self._monotonics += 1
            self.player.release()
        return self._last_monotonic / 1e6

    async def sleep(self, seconds: float) -> None:  # noqa: ARG002  # the recorded sleep took as long as it took
        """Return when the recorded sleep did."""
        await self.player.ask(Port.SLEEP, "", None)

    def new_id(self, at: datetime) -> UUID:  # noqa: ARG002  # the decision's id is known
        """The id of the recorded decision."""
        return self.player.decision_id

    def move(self, place: int) -> None:
        """Show the readings that followed an answer; never those of an earlier time."""
        recording = self.player.recording
        answer, self._answer = recording.answers[place], max(self._answer, place)
        if answer.walls > self._walls:
            self._walls = answer.walls
            self._last_wall = recording.walls[answer.walls - 1]
        if answer.monotonics > self._monotonics:
            self._monotonics = answer.monotonics
            self._last_monotonic = recording.monotonics[answer.monotonics - 1]

    def has_reached(self, answer: RecordedAnswer) -> bool:
        """Whether the clocks were read as often as before the end of the recorded call."""
        return self._walls >= answer.walls and self._monotonics >= answer.monotonics

    def _bound(self, name: str, total: int) -> int:
        """Readings that may be shown before the next answer."""
        for answer in self.player.recording.answers[self._answer + 1 :]:
            if answer.outcome is not RecordedOutcome.ENDED:
                return int(getattr(answer, name))
        return total
