"""What suggestions are made from, and a suggestion with its evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from worker.model import Account


class SuggestionKind(StrEnum):
    """What a suggestion would change; stored, never renamed."""

    RULE = "rule"
    WORD = "word"
    DOCUMENT = "document"
    FEEDBACK = "feedback"
    PROMPT = "prompt"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenMessage:
    """A decided message.

    Attributes:
        text: the first 500 characters of the message.
        author: distinguishes authors; a suggestion never names one.
        rule: the rule that stopped it, such as ``flagged_keyword:spam``; empty for none.
        ruling: ``agree`` or ``overturn``; empty: not reviewed.
        weight: the inverse of the chance with which a sample drew it; None: not drawn by a sample.
        topics: what the documents lack for it, as the assessment named it.
    """

    decision_id: UUID
    decided_at: datetime
    text: str
    author: str
    rule: str = ""
    ruling: str = ""
    weight: float | None = None
    topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingEdit:
    """A change of one setting that can be made to any version: of a list, or a new text.

    Attributes:
        added: entries of a list that are added.
        removed: entries of a list that are removed.
        value: the new text; None for a list.
    """

    setting: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    value: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningSuggestion:
    """One suggestion.

    Attributes:
        key: identifies it among the suggestions of its kind: the rule, word, topic or measure.
        evidence: figures that the pages and the command line show; see the module of the kind.
        edits: what a candidate changes; empty where a document or a text of a person is needed.
        decisions: some of the decisions that it rests on, without texts, with the times that find them.
    """

    kind: SuggestionKind
    key: str
    evidence: Mapping[str, Any]
    edits: tuple[SettingEdit, ...] = ()
    decisions: Mapping[UUID, datetime] = field(default_factory=dict)


def decision_times(messages: Iterable[SeenMessage]) -> dict[UUID, datetime]:
    """The decisions of messages with their times."""
    return {each.decision_id: each.decided_at for each in messages}


def edited_settings(account: Account, edits: Sequence[SettingEdit]) -> dict[str, Any]:
    """Setting -> value of the account after the edits, as ``worker.account_settings.changed`` takes it."""
    return {each.setting: _edited(getattr(account, each.setting), each) for each in edits}


def _edited(known: Any, edit: SettingEdit) -> Any:
    if edit.value is not None:
        return edit.value
    kept = [each for each in known if each not in edit.removed]
    return [*kept, *(each for each in edit.added if each not in kept)]
