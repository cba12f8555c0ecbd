"""One run of the pipeline: the event, the pinned versions, the ports and the trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from worker.assessment import Delivery, Policy, SearchBounds, usable_policy
from worker.endings import Ending
from worker.masking import Masker
from worker.model import (
    AI_ONLY,
    Account,
    Author,
    BudgetReached,
    ConversationState,
    Event,
    EventType,
    Json,
)
from worker.moderation import without_hold
from worker.moderation_holds import Holds
from worker.ports import Classifier, Clock, Moderator, Ports
from worker.rules import CompiledRules, compile_account_rules
from worker.trace import EventTrace

MOST_EDITS: Final = 3
"""Edits that an answer in the making follows; chosen, not measured: each may cost a further answer."""
EDITED: Final = "the author edited the message while the reply was made: decided by the newer text"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventCase:
    """An event with the pinned versions that decide it.

    Attributes:
        account: the version of the account's settings that decides this event.
        rules: the same version's keywords and phrases, compiled.
        policy: the same version's assessment policy.
        delivery: the same version's options of delivery.
        conversation: who owned the conversation when the event's turn came.
        budget: a budget of the account that is spent, or None.
        shed: the ending of a message that is left out because of the load, or None.
    """

    event: Event
    account: Account
    rules: CompiledRules
    policy: Policy
    delivery: Delivery = field(default_factory=Delivery)
    conversation: ConversationState = AI_ONLY
    budget: BudgetReached | None = None
    shed: Ending | None = None

    @property
    def author(self) -> Author:
        """What is known of the event's author: counted before, and as the publisher says."""
        said = self.event.metadata.get("author")
        role, age = (
            (said.get("role"), said.get("account_age_days")) if isinstance(said, dict) else (None, None)
        )
        age_days = float(age) if isinstance(age, int | float) and not isinstance(age, bool) else None
        return Author(
            strikes=self.conversation.strikes,
            messages_1h=self.conversation.messages_1h,
            role=role if isinstance(role, str) else None,
            account_age_days=age_days,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedSettings:
    """One version of an account's settings, or a candidate's, ready to decide events.

    Attributes:
        policy_problems: why the default policy replaces the stored policy; empty: it does not.
    """

    account: Account
    rules: CompiledRules
    policy: Policy
    delivery: Delivery
    policy_problems: tuple[str, ...] = ()

    def case(
        self,
        event: Event,
        conversation: ConversationState = AI_ONLY,
        budget: BudgetReached | None = None,
        shed: Ending | None = None,
    ) -> EventCase:
        """The event with these settings; a program waits for a check, so a check holds nothing."""
        is_check = event.type is EventType.CHECK
        return EventCase(
            event=event,
            account=without_hold(self.account) if is_check else self.account,
            rules=self.rules,
            policy=self.policy,
            delivery=self.delivery,
            conversation=conversation,
            budget=budget,
            shed=shed,
        )


def pinned_settings(
    account: Account, policy_defaults: Mapping[str, Mapping[str, Json]], rules: CompiledRules | None = None
) -> PinnedSettings:
    """A version with the deployment's ``policy_defaults``; compiles the rules that are not given."""
    policy, delivery, problems = usable_policy(account.assessment_policy, policy_defaults)
    return PinnedSettings(
        account=account,
        rules=compile_account_rules(account) if rules is None else rules,
        policy=policy,
        delivery=delivery,
        policy_problems=problems,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A case with ports, trace and search limits.

    Attributes:
        search: limits of every search for this draft, the model's own searches too.
        masker: masks each text for a vendor, and restores the values in the answer.
        edits_left: how many more edits of the message make it begin again.
    """

    case: EventCase
    ports: Ports
    trace: EventTrace
    search: SearchBounds
    masker: Masker
    edits_left: int = MOST_EDITS

    def edited(self, text: str) -> Run:
        """The run that begins again with the text of an edit; what was paid stays in its trace."""
        event = self.case.event
        event = replace(event, text=text, edited_first=True, notes=(*event.notes, EDITED))
        trace = replace(self.trace.beside(), event=event)
        trace.join(self.trace, only_costs=True)
        trace.began_s = self.trace.began_s
        case = replace(self.case, event=event)
        return replace(self, case=case, trace=trace, edits_left=self.edits_left - 1)

    def beside(self) -> Run:
        """The run with an empty trace, for steps that run beside others."""
        return replace(self, trace=self.trace.beside())


class ModerationPorts(Protocol):
    """The ports that rules and moderation need, of ``Ports`` or of ``worker.answer_check``."""

    @property
    def clock(self) -> Clock:
        """Time."""
        ...

    @property
    def moderator(self) -> Moderator | None:
        """None when the moderation API is switched off."""
        ...

    @property
    def classifiers(self) -> Mapping[str, Classifier]:
        """The deployment's classifiers, by name."""
        ...

    @property
    def holds(self) -> Holds:
        """Counts the calls that wait."""
        ...

    @property
    def is_replaced(self) -> Callable[[], bool]:
        """Whether new events have other ports."""
        ...


class GuardedRun(Protocol):
    """A run as far as the guards of a text need it."""

    @property
    def case(self) -> EventCase:
        """The event with its pinned versions."""
        ...

    @property
    def ports(self) -> ModerationPorts:
        """What moderates."""
        ...

    @property
    def trace(self) -> EventTrace:
        """Where stages and findings are recorded."""
        ...

    @property
    def masker(self) -> Masker:
        """Masks each text for a vendor."""
        ...
