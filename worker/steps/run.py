"""One event with everything pinned that judges it, and what is noted on its way."""

from __future__ import annotations

from dataclasses import dataclass

from worker.assessment import Policy
from worker.generation import RetryPolicy
from worker.model import Account, Event
from worker.ports import Ports
from worker.rules import CompiledRules
from worker.trace import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is to be decided, and by which version of what.

    Attributes:
        account: the version of its settings that counts for this event.
        rules: the same version's keywords and phrases, compiled.
        policy: the same version's confidence policy.
        retry: when model calls are repeated.
    """

    event: Event
    account: Account
    rules: CompiledRules
    policy: Policy
    retry: RetryPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A case on its way through the steps."""

    case: Case
    ports: Ports
    trace: Trace
