"""A person's answer passes the guards of a reply: the account's rules, and moderation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from worker.endings import REPLY, Ending
from worker.masking import Masker, account_masker
from worker.moderation import without_hold
from worker.moderation_holds import Holds
from worker.ports import Classifier, Clock, Moderator
from worker.steps import guards
from worker.steps.run import EventCase
from worker.trace import EventTrace


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPorts:
    """The ports of the check; as in ``Ports``."""

    clock: Clock
    moderator: Moderator | None
    classifiers: Mapping[str, Classifier] = field(default_factory=dict)
    holds: Holds = field(default_factory=Holds)
    is_replaced: Callable[[], bool] = lambda: False


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRun:
    """One check of one text."""

    case: EventCase
    ports: AnswerPorts
    trace: EventTrace
    masker: Masker


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedAnswer:
    """What the guards found.

    Attributes:
        blocked: the ending that an AI reply would have; None: it may be sent.
        trace: the stages of rules and moderation.
    """

    blocked: Ending | None
    trace: EventTrace


def answer_run(case: EventCase, ports: AnswerPorts) -> AnswerRun:
    """A run of the guards with an empty trace."""
    trace = EventTrace(event=case.event, account=case.account, clock=ports.clock)
    return AnswerRun(case=case, ports=ports, trace=trace, masker=account_masker(case.account))


async def check_answer(text: str, case: EventCase, ports: AnswerPorts) -> CheckedAnswer:
    """Whether the account's rules and moderators let a person's text pass, and the person sees all of it.

    A person waits for the result, so an account that holds messages for moderation blocks here. The author's
    message is masked first, so that the same value has the same placeholder as in the answer.
    """
    case = replace(case, account=without_hold(case.account))
    run = answer_run(case, ports)
    run.masker.mask(case.event.text)
    blocked = guards.rule_ending(run, text, REPLY) or guards.hidden_ending(run, text)
    blocked = blocked or await guards.moderation_ending(run, text, REPLY)
    return CheckedAnswer(blocked=blocked, trace=run.trace)
