"""Rows to assess, as people keep them: ``{"id", "query", "context", "response"}`` and a human label."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from worker.assessment.values import Evidence
from worker.errors import RejectedError
from worker.model import Json, Passage

_PASSAGE_HEAD = re.compile(r"(?m)^passage \d+:")


class CaseRejected(RejectedError):  # noqa: N818  # named for the state, like the errors of worker.errors
    """A row cannot be assessed; the message names the field, what was expected and what came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One reply with what it rests on.

    Attributes:
        group: rows of one group share their evidence and are never split in training; the id when absent.
        task: what kind of work the reply does, for the report.
        language: as the row says, for the report.
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


def row_from(data: Json, *, label: str | None = None) -> Row:
    """A row from its JSON object; ``label`` names the field that is 1 or true for an ungrounded reply.

    ``context`` is one text or a list of texts; ``passages`` in its stead are objects with ``text`` and, if
    known, ``title`` and ``similarity``. Context without a similarity counts as found: 1.0.

    Raises:
        CaseRejected: a field is missing or of the wrong type.
    """
    if not isinstance(data, dict):
        raise CaseRejected(f"row: expected a JSON object, got {type(data).__name__}")
    row_id = str(data.get("id", ""))
    if not row_id:
        raise CaseRejected("id: expected a text or number, got nothing")
    return Row(
        row_id=row_id,
        group=str(data.get("group", row_id)),
        task=str(data.get("task", "")),
        language=str(data.get("lang", "")),
        query=_text(data, "query", required=False),
        response=_text(data, "response"),
        evidence=Evidence(passages=_passages(data)),
        ungrounded=None if label is None else _label(data, label),
    )


def _text(data: Mapping[str, Json], name: str, *, required: bool = True) -> str:
    value = data.get(name, None if required else "")
    if not isinstance(value, str):
        raise CaseRejected(f"{name}: expected a text, got {_shown(value)}")
    return value


def _label(data: Mapping[str, Json], name: str) -> bool:
    value = data.get(name)
    if value not in (0, 1, True, False):
        raise CaseRejected(f"{name}: expected 0, 1, true or false, got {_shown(value)}")
    return bool(value)


def _passages(data: Mapping[str, Json]) -> tuple[Passage, ...]:
    given = data.get("passages", data.get("context"))
    if isinstance(given, str):
        heads = [match.start() for match in _PASSAGE_HEAD.finditer(given)]
        cuts = [0, *heads, len(given)] if heads else [0, len(given)]
        texts: list[Json] = [given[start:end] for start, end in pairwise(cuts)]
        given = [text for text in texts if str(text).strip()]
    if not isinstance(given, list):
        raise CaseRejected(f"context: expected a text or a list, got {_shown(given)}")
    return tuple(_passage(number, item) for number, item in enumerate(given))


def _passage(number: int, item: Json) -> Passage:
    if isinstance(item, str):
        return Passage(passage_id=f"context#{number}", title="", text=item, similarity=1.0)
    if not isinstance(item, dict) or not isinstance(item.get("text"), str):
        raise CaseRejected(f"passages.{number}: expected a text or an object with a text, got {_shown(item)}")
    similarity = item.get("similarity", 1.0)
    if isinstance(similarity, bool) or not isinstance(similarity, int | float) or not 0 <= similarity <= 1:
        raise CaseRejected(
            f"passages.{number}.similarity: expected a number from 0 to 1, got {_shown(similarity)}"
        )
    return Passage(
        passage_id=str(item.get("id", f"context#{number}")),
        title=str(item.get("title", "")),
        text=str(item["text"]),
        similarity=float(similarity),
    )


def _shown(value: Json) -> str:
    return "nothing" if value is None else f"{value!r:.80}"
