"""The examples of a backtest side by side, for people who may read texts."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from db.access_log import LoggedAction
from db.audit.suggestions import shown_decisions
from db.identifiers import uuid_time_bounds
from db.rows import Row
from review.access import Right
from review.content_covers import cover_reason
from review.http.visit import Visit
from trials.pages.request_values import hidden_of
from trials.pages.wording import TITLES
from trials.pure.trial import Trial
from trials.store.backtests import BacktestExample, examples_with
from worker.model import Account


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownExample:
    """An example as one person sees it.

    Attributes:
        decided_at: by its id, to some milliseconds.
        before, after: reason codes; ``after`` is empty where there is no decision.
        texts: None for people who may not read them, and when the decision is no longer stored.
        message: as recorded, else the first characters that the audit has; None when both are gone.
        cover: categories that cover the texts; empty: nothing does.
    """

    decision_id: UUID
    decided_at: datetime
    group: str
    before: str
    after: str
    texts: BacktestExample | None = None
    message: str | None = None
    cover: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownExamples:
    """The examples of a backtest.

    Attributes:
        may_read: whether the person may read texts.
        hidden: how many are left out because the person reviews them without seeing the ending.
    """

    shown: tuple[ShownExample, ...]
    may_read: bool
    hidden: int

    @property
    def sections(self) -> list[tuple[str, list[ShownExample]]]:
        """The titles of groups with their examples."""
        groups = (
            (title, [each for each in self.shown if each.group == key]) for key, title in TITLES.items()
        )
        return [(title, found) for title, found in groups if found]


async def load_examples(
    visit: Visit,
    trial: Trial,
    examples: Sequence[Mapping[str, Any]],
    account: Account | None,
    *,
    until_s: float,
    revealed: UUID | None,
) -> ShownExamples:
    """Examples of a backtest, with a line of the access log: who read how many texts.

    They are made again until ``until_s`` of the monotonic clock; with ``account`` None they are as stored.
    """
    hidden = await hidden_of(visit)
    seen = [each for each in examples if UUID(each["decision_id"]) not in hidden]
    may_read, pool = visit.may(Right.REVIEW, trial.user_id), visit.store.pool
    made: dict[UUID, BacktestExample] = {}
    rows: Mapping[UUID, Row] = {}
    if may_read:
        left_s = max(0.0, until_s - time.monotonic())
        found = await examples_with(pool, trial.user_id, seen, account, most_s=left_s)
        made = {each.decision_id: each for each in found}
    if made:
        times = {each.decision_id: each.decided_at for each in made.values()}
        async with visit.store.reading() as connection:
            rows = await shown_decisions(connection, times)
    covered = visit.person.covered

    def shown(example: Mapping[str, Any]) -> ShownExample:
        decision_id = UUID(example["decision_id"])
        texts, row = made.get(decision_id), rows.get(decision_id)
        cover: set[str] = set()
        if texts and decision_id != revealed:
            cover = {*cover_reason(covered, {"matched_rule": texts.rule_now})}
            cover |= {*(cover_reason(covered, row) if row else ())}
        return ShownExample(
            decision_id=decision_id,
            decided_at=uuid_time_bounds(decision_id)[0],
            group=example["group"],
            before=example["before"],
            after=(texts and texts.after) or example["after"],
            texts=texts,
            message=(texts and texts.message) or (row["message_text"] if row else None) or None,
            cover=tuple(sorted(cover)),
        )

    found_examples = tuple(map(shown, seen))
    read = sum(each.texts is not None and not each.cover for each in found_examples)
    detail = {"backtest": str(trial.trial_id), "decisions": read}
    action = LoggedAction.REVEAL if read else LoggedAction.FIGURES
    await visit.log(action, user_id=trial.user_id, decision_id=revealed, detail=detail)
    return ShownExamples(shown=found_examples, may_read=may_read, hidden=len(examples) - len(seen))
