"""What people read about an account setting, and the warnings a change of its value gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain
from typing import Any, Final

from pydantic import Field

from worker.model import (
    OPENAI_MODERATION,
    EscalationAction,
    FailurePolicy,
    ModeratorChoice,
)

UNIT: Final = ", seconds"
"""End of the title of a duration, whose value pages show with a unit of its own."""


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
    SHARE = "share"
    DURATION = "duration"
    TEXT = "text"
    CHOICE = "choice"
    LIST = "list"
    MAPPING = "mapping"
    RECORDS = "records"


class RiskText(StrEnum):
    """The sentences about risks of a change, with the names of their values."""

    SWITCHED_ON = "AI is switched on where it was off: from then on replies are sent to people."
    REPLY_UNTESTED = "The account's rules no longer test replies."
    PASSAGES_UNCHECKED = "Passages and messages with instructions to the model reach the model."
    UNMASKED = "E-mail addresses, phone, card and account numbers are sent to the model vendors again."
    THRESHOLD_REMOVED = "%(category)s: the threshold %(old)s is removed, the API's own flag decides."
    LESS_STRICT = "%(category)s: only scores of %(new)s or more are stopped, so more messages pass."
    STRICTER = "%(category)s: scores of %(new)s or more are stopped, so more messages get no reply."
    UNMODERATED = "While moderation is down, messages are answered without moderation."
    HELD = "While moderation is down, messages wait; after the longest hold they get no reply."
    IMAGES_UNMODERATED = "Images are no longer moderated: only %(endpoint)s looks at them."
    MODERATOR_GONE = "%(moderator)s no longer moderates messages and replies."
    MODERATOR_OPTIONAL = "While %(moderator)s is down, messages are answered without its result."
    COMBINED_WEAKER = "A text that one moderator flags may pass, because of the results of the others."
    SILENCED = "%(reason)s: no longer handed to people; the author gets no answer."
    UNASSESSED = "Replies are sent without an assessment."
    SENT_AT_ONCE = "Replies are sent without approval. Those that wait now are not sent by this change."
    UNLIMITED = "When a budget is spent, replies are sent as before and go on costing money."


@dataclass(frozen=True, slots=True, kw_only=True)
class Risk:
    """A risk of a change: one sentence, and its values by name."""

    text: RiskText
    values: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.text % self.values


def risk(text: RiskText, **values: str) -> Risk:
    """A risk with these values."""
    return Risk(text=text, values=values)


Warnings = Callable[[Any, Any], Iterator[Risk]]
"""The risks of changing the value before into the value after, as sentences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What people read about a setting.

    Attributes:
        help: the sentence under the form's field, in the CLI's listing and in ``docs/settings.md``.
        document: of ``docs/``, which readers of the listing have and those of the form have not.
        choices: value -> meaning, for a setting with a closed set of values.
        sentence: the label on the first level of the settings page; empty: the setting is on the second one.
    """

    title: str
    section: Section
    help: str
    document: str = ""
    warnings: Warnings = lambda _before, _after: iter(())
    choices: Mapping[str, str] = field(default_factory=dict)
    sentence: str = ""

    @property
    def short_title(self) -> str:
        """The title without the unit, for a value that is shown with its own."""
        return self.title.removesuffix(UNIT)


def setting(default: Any = ..., **described: Any) -> Any:
    """The field of a setting in a model; ``described`` are the attributes of its ``Setting``."""
    field_of_model = Field(default)
    field_of_model.metadata.append(Setting(**described))
    return field_of_model


def warns(text: RiskText, when: Callable[[Any, Any], bool]) -> Warnings:
    """A risk of a change whose values before and after are so."""
    return lambda before, after: iter((risk(text),) if when(before, after) else ())


def begins(value: Any) -> Callable[[Any, Any], bool]:
    """Whether the value is this after a change, and was another before."""
    return lambda before, after: after == value != before


def either(*warnings: Warnings) -> Warnings:
    """The risks of all of these."""
    return lambda before, after: chain.from_iterable(each(before, after) for each in warnings)


def warn_thresholds_changed(before: Mapping[str, float], after: Mapping[str, float]) -> Iterator[Risk]:
    """Every category whose threshold differs; 0.5 stands for none."""
    for category in sorted(before.keys() | after.keys()):
        old, new = before.get(category, 0.5), after.get(category)
        if new is None:
            yield risk(RiskText.THRESHOLD_REMOVED, category=category, old=f"{old:g}")
        elif new > old:
            yield risk(RiskText.LESS_STRICT, category=category, new=f"{new:g}")
        elif new < old:
            yield risk(RiskText.STRICTER, category=category, new=f"{new:g}")


def warn_moderators_changed(
    before: tuple[ModeratorChoice, ...], after: tuple[ModeratorChoice, ...]
) -> Iterator[Risk]:
    """A moderator is gone, or is left out during its outages; without any, the moderation API is asked."""
    asked, now = ({each.endpoint for each in chosen} or {OPENAI_MODERATION} for chosen in (before, after))
    if OPENAI_MODERATION in asked - now:
        yield risk(RiskText.IMAGES_UNMODERATED, endpoint=OPENAI_MODERATION)
    for name in sorted({each.name for each in before} - {each.name for each in after}):
        yield risk(RiskText.MODERATOR_GONE, moderator=name)
    for each in after:
        if each.failure is FailurePolicy.ALLOW and each not in before:
            yield risk(RiskText.MODERATOR_OPTIONAL, moderator=each.name)


def warn_silenced(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Risk]:
    """People no longer see what was handed to them."""
    for key, action in after.items():
        if action == EscalationAction.SILENCE != before.get(key):
            yield risk(RiskText.SILENCED, reason=key)
