"""Candidates and trials of accounts, as people store them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

from db.pool import Pool
from db.review_store import REVIEWER_ROLE
from tests.support.pools import in_pool
from trials.pure.trial import Trial
from trials.store.candidates import Actor, CandidateSource, SettingsCandidate, add_candidate
from trials.store.trials import get_trial

Value = TypeVar("Value")


def call(url: str, work: Callable[[Pool], Awaitable[Value]], role: str | None = REVIEWER_ROLE) -> Value:
    """What ``work`` returns for a pool with the rights of a role."""
    return in_pool(url, work, role=role)


def actor(reason: str = "a test", made_by: str = "kim") -> Actor:
    """A person, now."""
    return Actor(made_by=made_by, reason=reason, now=datetime.now(UTC))


def candidate(url: str, user_id: str, changes: Mapping[str, Any]) -> SettingsCandidate:
    """A stored candidate of a person."""
    add = partial(add_candidate, made_by=CandidateSource.PERSON, created_by="kim", note="from overturns")
    return call(url, lambda source: add(source, user_id, changes, now=datetime.now(UTC)))


def trial_now(url: str, trial: Trial) -> Trial:
    """The trial as it is stored."""
    found = call(url, lambda source: get_trial(source, trial.trial_id))
    assert found is not None
    return found
