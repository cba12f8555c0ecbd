"""Items for golden sets from what people said of decisions: agreed reviews, known answers, edited drafts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from db.pool import Pool, fetch_as, fetch_dicts
from trials.pure.evaluation.items import Expected, GoldenContent, GoldenItem, GoldenLabel, GoldenSource
from trials.pure.evaluation.recorded import recorded_content, ruled_label
from trials.store.recordings import StoredDecision, load_decisions
from worker.recordings.recording import RecordingUnreadable
from worker.recordings.stored import decoded

READERS: Final = 2
"""Different people who must agree."""
CHUNK: Final = 200
AGREED: Final = f"""
    WITH standing AS (
        SELECT DISTINCT ON (r.decision_id, r.person) r.decision_id, r.person, r.ruling, r.corrected_decision
        FROM decision_reviews r
        WHERE r.user_id = %(user_id)s AND r.ruling <> 'withdrawn' AND r.source <> 'golden'
            AND (%(ids)s::uuid[] IS NULL OR r.decision_id = ANY(%(ids)s))
            AND NOT EXISTS (SELECT FROM decision_reviews later WHERE later.withdraws = r.id)
        ORDER BY r.decision_id, r.person, r.created_at DESC, r.id DESC
    ), agreed AS (
        SELECT decision_id, min(ruling) AS ruling, min(corrected_decision) AS corrected,
               string_agg(person, ', ' ORDER BY person) AS labelled_by
        FROM standing GROUP BY decision_id
        HAVING count(*) >= {READERS} AND min(ruling) = max(ruling)
            AND count(DISTINCT corrected_decision) <= 1
    ), known AS (
        SELECT decision_id, ruling, corrected_decision AS corrected, created_by AS labelled_by
        FROM golden_items
        WHERE user_id = %(user_id)s AND (%(ids)s::uuid[] IS NULL OR decision_id = ANY(%(ids)s))
    )
    SELECT * FROM known WHERE ruling IN ('agree', 'overturn')
    UNION ALL
    SELECT * FROM agreed a WHERE a.ruling IN ('agree', 'overturn')
        AND NOT EXISTS (SELECT FROM known k WHERE k.decision_id = a.decision_id)
    ORDER BY decision_id
"""
EDITED: Final = """
    SELECT decision_id, text, person FROM answered_decisions
    WHERE user_id = %(user_id)s AND state = 'edited' AND text <> '' ORDER BY decision_id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledDecision:
    """What people said of a decision.

    Attributes:
        ruling: ``agree`` or ``overturn``; None: ``label`` is given.
        corrected: what should have been decided, if a person said so.
        reply: the text that a person sent in place of the draft.
    """

    decision_id: UUID
    labelled_by: str
    source: GoldenSource = GoldenSource.DECISION
    ruling: str | None = None
    corrected: str | None = None
    label: GoldenLabel | None = None
    reply: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GatheredItems:
    """Items from decisions; ``left_out``: why decisions cannot be items, and how many."""

    items: tuple[GoldenItem, ...]
    left_out: Mapping[str, int]


async def agreed_decisions(
    source: Pool, user_id: str, ids: Sequence[UUID] | None = None
) -> tuple[LabelledDecision, ...]:
    """Decisions of an account with a known answer, or about which all of at least two readers agree."""
    values = {"user_id": user_id, "ids": None if ids is None else list(ids)}
    return tuple(await fetch_as(source, LabelledDecision, AGREED, values))


async def edited_drafts(source: Pool, user_id: str) -> tuple[LabelledDecision, ...]:
    """Decisions whose draft a person edited and sent: the message may be answered, with the edited text."""
    return tuple(
        LabelledDecision(
            decision_id=row["decision_id"],
            labelled_by=row["person"],
            source=GoldenSource.EDITED_DRAFT,
            label=GoldenLabel(expected=Expected.ANSWER, labelled_by=row["person"]),
            reply=row["text"],
        )
        for row in await fetch_dicts(source, EDITED, {"user_id": user_id})
    )


async def gather_items(
    source: Pool, user_id: str, labelled: Sequence[LabelledDecision], *, live_search: bool = False
) -> GatheredItems:
    """The items of decisions from their recordings, which are sealed: the caller logs who reads.

    What cannot be an item is counted: ``unknown`` (no such decision of the account), ``erased``,
    ``not_recorded``, ``unreadable``, ``no_message``, and ``by_state`` for a decision that ended for what is
    not in its message. ``live_search``: evaluations search the documents, instead of the passages of then.
    """
    wanted = {each.decision_id: each for each in labelled}
    items, left_out, ids = [], Counter[str](), list(wanted)
    for start in range(0, len(ids), CHUNK):
        chunk = ids[start : start + CHUNK]
        stored = [each for each in await load_decisions(source, chunk, light=True) if each.user_id == user_id]
        left_out["unknown"] += len(chunk) - len(stored)
        for each in stored:
            made = _item(each, wanted[each.decision_id], live_search=live_search)
            if isinstance(made, GoldenItem):
                items.append(made)
            else:
                left_out[made] += 1
    return GatheredItems(items=tuple(items), left_out=+left_out)


def _item(stored: StoredDecision, labelled: LabelledDecision, *, live_search: bool) -> GoldenItem | str:
    """The item, or why no item was made."""
    if stored.erased:
        return "erased"
    if stored.recording is None:
        return "not_recorded"
    try:
        content = recorded_content(decoded(stored.recording), reply=labelled.reply)
    except RecordingUnreadable:
        return "unreadable"
    if content is None:
        return "no_message"
    label = labelled.label
    if label is None and labelled.ruling is not None:
        label = ruled_label(labelled.ruling, labelled.corrected, stored.outcome, labelled.labelled_by)
    if label is None:
        return "by_state"
    return GoldenItem(
        row_id=str(stored.decision_id),
        source=labelled.source,
        label=label,
        content=_searched(content) if live_search else content,
        recorded_at=stored.created_at,
        decision_id=stored.decision_id,
    )


def _searched(content: GoldenContent) -> GoldenContent:
    return GoldenContent(event=content.event, history=content.history, reply=content.reply)
