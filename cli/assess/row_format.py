"""Rows to assess: ``{"id", "query", "context", "response"}`` and optionally labels and a human label."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from worker.assessment.values import Evidence
from worker.errors import RejectedError
from worker.model import Json, Message, MessageRole, Passage

_PASSAGE_HEAD = re.compile(r"(?m)^passage \d+:")


class RowRejected(RejectedError):
    """A row cannot be assessed; the message names the field, what was expected and what came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssessmentRow:
    """One reply with its question and evidence.

    Attributes:
        group: rows of one group share their evidence and are never split in training; the id when absent.
        task: the kind of task (question, summary), for the report.
        language: as the row names it, for the report.
        ungrounded: the human label, or None without one.
    """

    row_id: str
    group: str
    task: str
    language: str
    query: str
    response: str
    evidence: Evidence
    ungrounded: bool | None


def parse_row(data: Json, *, label: str | None = None) -> AssessmentRow:
    """A row from its JSON object; ``label`` names the field that is 1 or true for an ungrounded reply.

    ``context`` is one text or a list of texts; ``passages``, its alternative, are objects with ``text`` and
    optionally ``title``, ``similarity``, ``rerank`` and ``labels``. The default similarity is 1.0. ``labels``
    of the row are those that a passage must have, as in an event's metadata; ``expected_class`` is the label
    ``class``. ``history`` has the turns before the question, oldest first; ``drafts`` what other models
    answered.

    Raises:
        RowRejected: a field is missing or of the wrong type.
    """
    if not isinstance(data, dict):
        raise RowRejected(f"row: expected a JSON object, got {type(data).__name__}")
    row_id = str(data.get("id", ""))
    if not row_id:
        raise RowRejected("id: expected a text or number, got nothing")
    return AssessmentRow(
        row_id=row_id,
        group=str(data.get("group", row_id)),
        task=str(data.get("task", "")),
        language=str(data.get("lang", "")),
        query=_text(data, "query", required=False),
        response=_text(data, "response"),
        evidence=Evidence(
            passages=_passages(data),
            expected_metadata=_expected(data),
            history=_history(data.get("history")),
            other_drafts=_drafts(data.get("drafts")),
        ),
        ungrounded=None if label is None else _label(data, label),
    )


def has_field(data: Json, name: str) -> bool:
    """Whether a row has a value in a field."""
    return isinstance(data, dict) and data.get(name) is not None


def _drafts(given: Json) -> tuple[str, ...]:
    """What other models answered, for the policy ``consensus``."""
    texts = [] if given is None else given
    if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
        raise RowRejected(f"drafts: expected a list of texts, got {_shown(given)}")
    return tuple(str(each) for each in texts)


def _expected(data: Mapping[str, Json]) -> dict[str, str]:
    found = _labels("labels", data.get("labels"))
    return found | _labels("expected_class", {"class": data.get("expected_class")})


_ROLES = {
    "author": MessageRole.USER,
    "user": MessageRole.USER,
    "reply": MessageRole.ASSISTANT,
    "assistant": MessageRole.ASSISTANT,
}
"""Role of a turn -> ours; bare texts alternate, the author first."""


def _history(given: Json) -> tuple[Message, ...]:
    if given is None:
        return ()
    if not isinstance(given, list):
        raise RowRejected(f"history: expected a list of turns, got {_shown(given)}")
    return tuple(_turn(number, item) for number, item in enumerate(given))


def _turn(number: int, item: Json) -> Message:
    if isinstance(item, str):
        return Message(role=MessageRole.ASSISTANT if number % 2 else MessageRole.USER, text=item)
    text = item.get("text", item.get("content")) if isinstance(item, dict) else None
    role = _ROLES.get(str(item.get("role"))) if isinstance(item, dict) else None
    if not isinstance(text, str) or role is None:
        roles = ", ".join(_ROLES)
        expected = f'a text or an object with "text" and "role" ({roles})'
        raise RowRejected(f"history.{number}: expected {expected}, got {_shown(item)}")
    return Message(role=role, text=text)


def _labels(place: str, given: Json) -> dict[str, str]:
    """Labels as texts; a number keeps its digits."""
    if given is None:
        return {}
    if not isinstance(given, dict) or any(isinstance(each, bool | dict | list) for each in given.values()):
        raise RowRejected(f"{place}: expected an object of texts, got {_shown(given)}")
    return {name: str(value) for name, value in given.items() if value is not None}


def _text(data: Mapping[str, Json], name: str, *, required: bool = True) -> str:
    value = data.get(name, None if required else "")
    if not isinstance(value, str):
        raise RowRejected(f"{name}: expected a text, got {_shown(value)}")
    return value


def _label(data: Mapping[str, Json], name: str) -> bool:
    value = data.get(name)
    if value not in (0, 1, True, False):
        raise RowRejected(f"{name}: expected 0, 1, true or false, got {_shown(value)}")
    return bool(value)


def _passages(data: Mapping[str, Json]) -> tuple[Passage, ...]:
    given = data.get("passages", data.get("context"))
    if isinstance(given, str):
        heads = [match.start() for match in _PASSAGE_HEAD.finditer(given)]
        cuts = [0, *heads, len(given)] if heads else [0, len(given)]
        texts: list[Json] = [given[start:end] for start, end in pairwise(cuts)]
        given = [text for text in texts if str(text).strip()]
    if not isinstance(given, list):
        raise RowRejected(f"context: expected a text or a list, got {_shown(given)}")
    return tuple(_passage(number, item) for number, item in enumerate(given))


def _passage(number: int, item: Json) -> Passage:
    if isinstance(item, str):
        return Passage(passage_id=f"context#{number}", title="", text=item, similarity=1.0)
    if not isinstance(item, dict) or not isinstance(item.get("text"), str):
        raise RowRejected(f"passages.{number}: expected a text or an object with a text, got {_shown(item)}")
    similarity = item.get("similarity", 1.0)
    if isinstance(similarity, bool) or not isinstance(similarity, int | float) or not 0 <= similarity <= 1:
        raise RowRejected(
            f"passages.{number}.similarity: expected a number from 0 to 1, got {_shown(similarity)}"
        )
    return Passage(
        passage_id=str(item.get("id", f"context#{number}")),
        title=str(item.get("title", "")),
        text=str(item["text"]),
        similarity=float(similarity),
        metadata=_labels(f"passages.{number}.labels", item.get("labels"))
        | _labels(f"passages.{number}.rerank", {"rerank": item.get("rerank")}),
    )


def _shown(value: Json) -> str:
    return "nothing" if value is None else f"{value!r:.80}"
