"""Records what the ports answer for one event."""

from __future__ import annotations

from array import array
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import coroutine
from typing import Any, Final
from uuid import UUID

from worker.errors import HushgateError
from worker.model import Json
from worker.ports import Clock, Ports
from worker.recordings.asked import AskedPort, PortCall
from worker.recordings.recording import Deployment, Port, RecordedAnswer, RecordedOutcome, Recording
from worker.recordings.stored import error_json, request_key
from worker.steps.run import EventCase

MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(slots=True, kw_only=True)
class Recorder:
    """Collects the recording of one run of the pipeline.

    Attributes:
        case: what is decided.
        behind: the ports that answer.
        policy_defaults: the deployment's, of the account's assessment policy.
    """

    case: EventCase
    behind: Ports
    policy_defaults: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    walls: list[datetime] = field(default_factory=list)
    monotonics: array[float] = field(default_factory=lambda: array("d"))
    answers: list[RecordedAnswer] = field(default_factory=list)
    begun: int = 0

    @property
    def ports(self) -> Ports:
        """The ports to decide with."""
        behind = self.behind
        moderator, judge, arrivals = behind.moderator, behind.judge, behind.arrivals
        return replace(
            behind,
            clock=RecordedClock(self, behind.clock),
            moderator=AskedPort(self, Port.MODERATOR, moderator) if moderator else None,
            model=AskedPort(self, Port.MODEL, behind.model),
            retriever=AskedPort(self, Port.SEARCH, behind.retriever),
            conversations=AskedPort(self, Port.HISTORY, behind.conversations),
            judge=AskedPort(self, Port.JUDGE, judge) if judge else None,
            arrivals=AskedPort(self, Port.ARRIVALS, arrivals) if arrivals else None,
            classifiers={
                name: AskedPort(self, Port.CLASSIFIER.named(name), each)
                for name, each in behind.classifiers.items()
            },
            models={
                name: AskedPort(self, Port.MODEL.named(name), each) for name, each in behind.models.items()
            },
        )

    @coroutine
    def ask(
        self, port: str, request: object, call: PortCall | None, *given: Any, **named: Any
    ) -> Generator[Any, Any, Any]:
        """The answer of the port, recorded; errors of ports and cancelled calls likewise.

        A generator, to see whether the call waits.
        """
        assert call is not None  # a recorder offers the ports that it has
        number, self.begun = self.begun, self.begun + 1
        outcome, value, at_once = RecordedOutcome.ENDED, None, True
        steps = call(*given, **named).__await__()
        try:
            awaited = next(steps)
            at_once = False
            while True:
                try:
                    sent = yield awaited
                except GeneratorExit:
                    steps.close()
                    raise
                except BaseException as error:  # noqa: BLE001  # the call decides what to do with it
                    awaited = steps.throw(error)
                else:
                    awaited = steps.send(sent)
        except StopIteration as end:
            outcome, value = RecordedOutcome.VALUE, end.value
        except HushgateError as error:
            outcome, value = RecordedOutcome.ERROR, error_json(error)  # its traceback holds this recorder
            raise
        finally:
            self._ended(port, request, number, outcome, value, at_once=at_once)
        return value

    def recording(self) -> Recording:
        """What was recorded; called once, at the end."""
        behind = self.behind
        for each in self.answers:
            each.request = request_key(each.request)
        began = self.walls[0] if self.walls else self.case.event.received_at
        first_s = self.monotonics[0] if self.monotonics else 0.0
        return Recording(
            event=self.case.event,
            conversation=self.case.conversation,
            budget=self.case.budget,
            shed=(self.case.shed.reason_code, self.case.shed.reason) if self.case.shed else (),
            rules_version=self.case.account.version,
            deployment=Deployment(
                moderator=behind.moderator is not None,
                judge=behind.judge is not None,
                arrivals=behind.arrivals is not None,
                classifiers=tuple(behind.classifiers),
                models=tuple(behind.models),
                retry=behind.retry,
                limits=behind.limits,
                policy_defaults=self.policy_defaults,
            ),
            started_at=began,
            walls=tuple((each - began) // MICROSECOND for each in self.walls),
            monotonics=tuple(round((each - first_s) * 1e6) for each in self.monotonics),
            answers=tuple(self.answers),
        )

    def _ended(
        self, port: str, request: Any, number: int, outcome: RecordedOutcome, value: Any, *, at_once: bool
    ) -> None:
        self.answers.append(
            RecordedAnswer(
                port=port,
                request=request,  # hashed at the end
                number=number,
                begun=self.begun,
                walls=len(self.walls),
                monotonics=len(self.monotonics),
                outcome=outcome,
                at_once=at_once,
                value=value,
            )
        )


@dataclass(frozen=True, slots=True)
class RecordedClock:
    """The clock of a recorder."""

    recorder: Recorder
    clock: Clock

    def now(self) -> datetime:
        """The wall clock, UTC."""
        found = self.clock.now()
        self.recorder.walls.append(found)
        return found

    def monotonic(self) -> float:
        """Seconds that never run backwards."""
        found = self.clock.monotonic()
        self.recorder.monotonics.append(found)
        return found

    async def sleep(self, seconds: float) -> None:
        """Return after ``seconds``."""
        await self.recorder.ask(Port.SLEEP, "", self.clock.sleep, seconds)

    def new_id(self, at: datetime) -> UUID:
        """The id of the decision, with which the recording is stored."""
        return self.clock.new_id(at)
