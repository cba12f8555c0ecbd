"""What people read about an account setting, and the warnings a change of its value gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from worker.model import (
    OPENAI_MODERATION,
    BudgetAction,
    Combination,
    EscalationAction,
    FailurePolicy,
    ModeratorChoice,
    ReplyMode,
)


class Section(StrEnum):
    """Where a setting is edited: ``RULES`` on the rules page, the others on the settings page."""

    RULES = "Rules"
    REPLIES = "Where AI replies"
    MODERATION = "Moderation"
    REPLY = "The reply"
    PRIVACY = "Personal data"
    FALLBACKS = "Fallback texts"
    DISCLOSURE = "AI disclosure"
    PEOPLE = "People in the conversation"
    APPROVAL = "Approval by people"
    HANDOFF = "Handoff to people"
    SPENDING = "Budgets and limits"
    APPEALS = "Appeals and statements of reasons"
    LEARNING = "Learning from decisions"


class SettingKind(StrEnum):
    """The shape of a setting's value."""

    SWITCH = "switch"
    NUMBER = "number"
    TEXT = "text"
    CHOICE = "choice"
    LIST = "list"
    MAPPING = "mapping"
    RECORDS = "records"


def _no_warning(before: Any, after: Any) -> Iterator[str]:
    del before, after
    return iter(())


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What people read about a setting.

    Attributes:
        help: the sentence under the form's field, in the CLI's listing and in ``docs/settings.md``.
        warnings: the risks of changing the value before into the value after, as sentences.
        choices: value -> meaning, for a setting with a closed set of values.
    """

    title: str
    section: Section
    help: str
    warnings: Callable[[Any, Any], Iterator[str]] = _no_warning
    choices: Mapping[str, str] = field(default_factory=dict)

    @property
    def short_title(self) -> str:
        """The title without the unit, for a value that is shown with its own."""
        return self.title.removesuffix(", seconds")


def warn_adaptive(before: dict[str, str], after: dict[str, str]) -> Iterator[str]:
    """Thresholds change without a person."""
    if after and after != before:
        yield "Thresholds move within these bounds without a person, one step a day."


def warn_switched_on(before: bool, after: bool) -> Iterator[str]:
    """AI replies where it did not."""
    if after and not before:
        yield "AI is switched on where it was off: from then on replies are sent to people."


def warn_reply_untested(before: bool, after: bool) -> Iterator[str]:
    """Drafts pass that a rule would have stopped."""
    if before and not after:
        yield "The account's rules no longer test replies."


def warn_passages_unchecked(before: bool, after: bool) -> Iterator[str]:
    """Passages with instructions reach the model."""
    if before and not after:
        yield "Passages with instructions to the model are no longer left out."


def warn_unmasked(before: bool, after: bool) -> Iterator[str]:
    """Personal data leaves for vendors."""
    if before and not after:
        yield "E-mail addresses, phone, card and account numbers are sent to the model vendors again."


def warn_thresholds_changed(before: Mapping[str, float], after: Mapping[str, float]) -> Iterator[str]:
    """Every category whose threshold differs; 0.5 stands for none."""
    for category in sorted(before.keys() | after.keys()):
        old, new = before.get(category, 0.5), after.get(category)
        if new is None:
            yield f"{category}: the threshold {old:g} is removed, the API's own flag decides."
        elif new > old:
            yield f"{category}: only scores of {new:g} or more are stopped, so more messages pass."
        elif new < old:
            yield f"{category}: scores of {new:g} or more are stopped, so more messages get no reply."


def warn_unmoderated(before: FailurePolicy, after: FailurePolicy) -> Iterator[str]:
    """Messages are answered unmoderated."""
    if after is FailurePolicy.ALLOW != before:
        yield "While moderation is down, messages are answered without moderation."


def warn_moderators_changed(
    before: tuple[ModeratorChoice, ...], after: tuple[ModeratorChoice, ...]
) -> Iterator[str]:
    """A moderator is gone, or is left out while it is down; without any, the moderation API is asked."""
    asked, now = ({each.endpoint for each in chosen} or {OPENAI_MODERATION} for chosen in (before, after))
    if OPENAI_MODERATION in asked - now:
        yield f"Images are no longer moderated: only {OPENAI_MODERATION} looks at them."
    for name in sorted({each.name for each in before} - {each.name for each in after}):
        yield f"{name} no longer moderates messages and replies."
    for each in after:
        if each.failure is FailurePolicy.ALLOW and each not in before:
            yield f"While {each.name} is down, messages are answered without its result."


def warn_combined_weaker(before: Combination, after: Combination) -> Iterator[str]:
    """One hit no longer blocks."""
    if before is Combination.ANY != after:
        yield "A text that one moderator flags may pass, because of the results of the others."


def warn_silenced(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    """People no longer see what was handed to them."""
    for key, action in after.items():
        if action == EscalationAction.SILENCE != before.get(key):
            yield f"{key}: no longer handed to people; the author gets no answer."


def warn_unassessed(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Drafts are sent unassessed."""
    if before.get("enabled", True) and after.get("enabled") is False:
        yield "Replies are sent without an assessment."


def warn_sent_at_once(before: ReplyMode, after: ReplyMode) -> Iterator[str]:
    """Replies are no longer approved."""
    if after is ReplyMode.AUTO != before:
        yield "Replies are sent without approval. Those that wait now are not sent by this change."


def warn_unlimited(before: BudgetAction, after: BudgetAction) -> Iterator[str]:
    """A spent budget no longer stops anything."""
    if after is BudgetAction.ALERT != before:
        yield "When a budget is spent, replies are sent as before and go on costing money."
