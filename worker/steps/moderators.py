"""Asking moderators about a text: attempts and holds of one, and several together or in turn."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Final

from worker import moderation, scope
from worker.cancellation import cancel_all
from worker.classifiers.prompts import ClassifierQuestion
from worker.endings import MESSAGE, GuardedText
from worker.errors import EndpointMisconfigured, ModerationRejected, ModerationUnavailable
from worker.model import (
    OPENAI_MODERATION,
    AttemptOutcome,
    CallPurpose,
    Combination,
    EventType,
    FailurePolicy,
    MessageRole,
    ModerationScores,
    ModeratorChoice,
)
from worker.moderation import Conclusion, ModeratorResult, Vote
from worker.steps.run import GuardedRun

LIMIT_PAUSE_S: Final = 1.0
NO_RESULT: Final = (ModerationUnavailable, ModerationRejected, EndpointMisconfigured)


def is_unreadable(error: Exception | None) -> bool:
    """Whether a classifier answered something that is no result."""
    return isinstance(error, ModerationUnavailable) and error.kind == AttemptOutcome.UNREADABLE


def is_limited(error: Exception | None) -> bool:
    """Whether a call was not made because a limit left no room for it until now."""
    return isinstance(error, ModerationUnavailable) and error.kind == AttemptOutcome.LIMITED


async def ask(
    run: GuardedRun, choices: Sequence[ModeratorChoice], text: str, subject: GuardedText
) -> tuple[Conclusion, tuple[ModeratorResult | None, ...]]:
    """The conclusion about a text, and each moderator's result; None for a moderator that was not needed."""
    calls = [ModeratorCall(run=run, choice=each, text=text, subject=subject) for each in choices]
    if len(calls) == 1:
        await calls[0].finish()
    elif run.case.account.moderation_combination is Combination.FIRST:
        await _in_turn(run, calls)
    else:
        await _together(run, calls)
    concluded = _conclusion(run, calls)
    assert concluded is not None  # the calls above end with one
    return concluded, tuple(call.result for call in calls)


def _conclusion(run: GuardedRun, calls: Sequence[ModeratorCall]) -> Conclusion | None:
    return moderation.conclusion(run.case.account.moderation_combination, [call.result for call in calls])


async def _together(run: GuardedRun, calls: Sequence[ModeratorCall]) -> None:
    """Ask all at once until no missing result can change the conclusion; the others are cancelled."""
    asking = [asyncio.create_task(call.finish()) for call in calls]
    try:
        while _conclusion(run, calls) is None:
            waiting = [task for task in asking if not task.done()]
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
    finally:
        await cancel_all(asking)


async def _in_turn(run: GuardedRun, calls: Sequence[ModeratorCall]) -> None:
    """Ask one after the other until one answers; who did not answer is asked again after its pause."""
    clock = run.ports.clock
    now_s = clock.monotonic()
    while waiting := [call for call in calls if call.result is None]:
        for call in waiting:
            if call.due_s <= now_s:
                await call.attempt()
            if call.answered:
                for failed in waiting:
                    failed.give_up()
                return
        if due := [call.due_s for call in waiting if call.result is None]:
            now_s = max(min(due), clock.monotonic())
            leaves = all(call.is_held for call in waiting if call.result is None)
            await _pause(run, max(0.0, now_s - clock.monotonic()), leaves=leaves)
            for call in waiting:
                call.give_up_when_late()


async def _pause(run: GuardedRun, seconds: float, *, leaves: bool) -> None:
    """Wait between two attempts; ``leaves``: without a place in flight, and without the account's slot.

    Raises:
        asyncio.CancelledError: the held event is put back, without room or to begin again with other ports.
    """
    event, clock, holds = run.case.event, run.ports.clock, run.ports.holds
    with holds.waiting(event, now_s=clock.monotonic(), leaves=leaves):
        async with holds.slot_released(event) if leaves else nullcontext():
            await clock.sleep(seconds)
    if leaves and run.ports.is_replaced():
        raise asyncio.CancelledError("other servers are in force")


@dataclass(slots=True, kw_only=True)
class ModeratorCall:
    """The attempts of one moderator for one text.

    Attributes:
        number: attempts made.
        wait_s: pause before the next attempt.
        due_s: monotonic time from which the next attempt may be made.
        error: of the last attempt that failed.
        result: None until it is final.
    """

    run: GuardedRun
    choice: ModeratorChoice
    text: str
    subject: GuardedText
    number: int = 0
    wait_s: float = 0.0
    due_s: float = float("-inf")
    started_s: float = 0.0
    error: Exception | None = None
    result: ModeratorResult | None = None

    @property
    def answered(self) -> bool:
        """Whether there is a result with scores."""
        return self.result is not None and self.result.scores is not None

    @property
    def is_held(self) -> bool:
        """Whether the next attempt may be long off: only a hold is not limited to a few attempts."""
        return self.error is not None and self._policy(self.error) == FailurePolicy.HOLD

    async def finish(self) -> None:
        """Ask until the result is final; a hold waits here, in process."""
        await self.attempt()
        while self.result is None:
            await _pause(self.run, self.wait_s, leaves=self.is_held)
            self.give_up_when_late()
            if self.result is None:
                await self.attempt()

    async def attempt(self) -> None:
        """Ask once; afterwards there is a result, or a time for the next attempt."""
        clock = self.run.ports.clock
        self.number += 1
        started = clock.monotonic()
        self.started_s = self.started_s if self.number > 1 else started
        try:
            scores = await self._scores()
        except NO_RESULT as error:
            self.error, wait_s = error, self._wait_s(error)
            self._called(started, outcome=getattr(error, "kind", AttemptOutcome.REJECTED))
            if not isinstance(error, ModerationRejected):
                self._note(AttemptOutcome(error.kind), started, wait_s=wait_s or 0.0, detail=str(error))
            if wait_s is None:
                self.give_up()
            else:
                self.wait_s, self.due_s = wait_s, clock.monotonic() + wait_s
            return
        if scores.unchecked_images and self._asks_again(scores, started):
            return
        self._answered(scores, started)

    def _asks_again(self, scores: ModerationScores, started: float) -> bool:
        """Whether images without a result are tried once more; never when the others are flagged."""
        if moderation.finding(scores, self.choice, stage=self.subject.moderation_stage):
            return False
        wait_s = moderation.image_pause_s(self.number)
        detail = f"{scores.unchecked_images} images could not be checked"
        self._note(AttemptOutcome.REJECTED, started, wait_s=wait_s or 0.0, detail=detail)
        if wait_s is None:
            self.run.trace.unchecked_images = scores.unchecked_images
            return False
        self._called(started, model=scores.model, tokens=scores.tokens)
        self.wait_s, self.due_s = wait_s, self.run.ports.clock.monotonic() + wait_s
        return True

    def give_up(self) -> None:
        """Make the last failure final; nothing when there is a result, or none was tried."""
        if self.result is None and self.error is not None:
            self.result = ModeratorResult(
                choice=self.choice,
                vote=self._vote(self.error),
                error=self.error,
                duration_ms=self._elapsed_ms(self.started_s),
            )

    def give_up_when_late(self) -> None:
        """End the hold of a message that is too old for a reply: its result would change nothing."""
        event, account = self.run.case.event, self.run.case.account
        is_answered = self.subject is MESSAGE and event.type is EventType.MESSAGE
        if self.is_held and is_answered and scope.late_ending(event, account, self.run.ports.clock.now()):
            self.give_up()

    def _answered(self, scores: ModerationScores, started: float) -> None:
        trace, name = self.run.trace, self.choice.name
        self._called(started, model=scores.model, tokens=scores.tokens)
        if self.choice.endpoint == OPENAI_MODERATION:
            trace.models["moderation"] = scores.model
        else:
            trace.models[f"moderation {name}"] = scores.model
            trace.spent("moderation", scores.tokens, model=scores.model)
            self._note(AttemptOutcome.COMPLETED, started)
        found = moderation.finding(scores, self.choice, stage=self.subject.moderation_stage)
        self.result = ModeratorResult(
            choice=self.choice,
            vote=Vote.HIT if found else Vote.CLEAR,
            scores=scores,
            finding=found,
            duration_ms=self._elapsed_ms(self.started_s),
        )

    async def _scores(self) -> ModerationScores:
        """One call.

        Raises:
            ModerationUnavailable, ModerationRejected, EndpointMisconfigured: as the ports.
        """
        ports, event = self.run.ports, self.run.case.event
        is_message = self.subject is MESSAGE
        if self.choice.endpoint == OPENAI_MODERATION:
            assert ports.moderator is not None  # it is not asked while it is switched off
            return await ports.moderator.moderate(self.text, event.attachments if is_message else ())
        if (classifier := ports.classifiers.get(self.choice.endpoint)) is None:
            raise EndpointMisconfigured(
                f"this deployment declares no classifier {self.choice.endpoint!r}", cause="address"
            )
        return await classifier.classify(
            ClassifierQuestion(
                text=self.text,
                policy=self.choice.policy,
                writer=MessageRole.USER if is_message else MessageRole.ASSISTANT,
                message="" if is_message else self.run.masker.mask(event.text),
            )
        )

    def _wait_s(self, error: Exception) -> float | None:
        """Seconds until the next attempt; past a breaker or a wrong endpoint only a hold asks again."""
        policy = self._policy(error)
        if is_limited(error):
            return self._limited_wait_s()
        if isinstance(error, ModerationRejected):
            return None
        is_not_called = getattr(error, "kind", None) == AttemptOutcome.CIRCUIT_OPEN
        if policy != FailurePolicy.HOLD and (is_not_called or isinstance(error, EndpointMisconfigured)):
            return None
        case, retry_after_s = self.run.case, getattr(error, "retry_after_s", None)
        age_s = (self.run.ports.clock.now() - case.event.received_at).total_seconds()
        return moderation.pause_s(policy, case.account.hold_max_s, self.number, age_s, retry_after_s)

    def _limited_wait_s(self) -> float | None:
        """Pause after the refusal of a limit, the same for every failure policy; None for a late message."""
        case, now = self.run.case, self.run.ports.clock.now()
        return LIMIT_PAUSE_S if now <= scope.last_moment(case.event, case.account) else None

    def _vote(self, error: Exception) -> Vote:
        """Only an outage lets a text pass, and only where the account allows it."""
        is_outage = isinstance(error, ModerationUnavailable)
        return Vote.ABSENT if is_outage and self._policy(error) == FailurePolicy.ALLOW else Vote.CLOSED

    def _policy(self, error: Exception) -> FailurePolicy:
        """The failure policy; an unreadable answer blocks, as the text itself may have caused it."""
        if is_unreadable(error):
            return FailurePolicy.BLOCK
        return self.choice.failure or self.run.case.account.moderation_failure

    def _elapsed_ms(self, since: float) -> float:
        return (self.run.ports.clock.monotonic() - since) * 1000

    def _called(self, started: float, **answer: Any) -> None:
        self.run.trace.called(CallPurpose.MODERATION, self.subject.moderation_stage, started, **answer)

    def _note(
        self, outcome: AttemptOutcome, started: float, *, wait_s: float = 0.0, detail: str = ""
    ) -> None:
        is_chosen = bool(self.run.case.account.moderators)
        self.run.trace.attempt(
            self.subject.moderation_stage,
            self.number,
            outcome,
            duration_ms=self._elapsed_ms(started),
            waited_s=wait_s,
            detail=detail,
            moderator=self.choice.name if is_chosen else "",
        )
