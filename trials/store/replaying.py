"""Stored decisions made again: with the pinned settings, or with a candidate's."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from db.pool import Pool
from trials.pure.replay.deciding import replayed
from trials.pure.replay.difference import Difference, DifferenceKind, difference, outcome_of
from trials.pure.replay.groups import ReplayState
from trials.pure.replay.shortcut import is_unchanged
from trials.store.candidates import base_account, candidate_account, get_candidate
from trials.store.recordings import StoredDecision
from worker import __version__
from worker.account_settings import AccountRejected, changed
from worker.model import Account, Decision
from worker.ports import Ports
from worker.recordings.recording import Recording, RecordingUnreadable
from worker.recordings.stored import decoded
from worker.steps.run import PinnedSettings, pinned_settings

MOST_VERSIONS: Final = 50


class CandidateUnusable(Exception):
    """The candidate's changes do not fit the settings that decided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedDecision:
    """A stored decision and the one made again.

    Attributes:
        decision: None unless it was made again; ``difference`` likewise.
        asked: ports that were asked live, in order.
        why: for a decision that was not made again, one sentence.
        other_release: the release that made the stored decision; empty for this release.
    """

    stored: StoredDecision
    state: ReplayState
    decision: Decision | None = None
    difference: Difference | None = None
    asked: tuple[str, ...] = ()
    why: str = ""
    other_release: str = ""

    @property
    def group(self) -> str:
        """How it differs, or why it was not made again."""
        return self.state if self.difference is None else self.difference.kind


@dataclass(slots=True, kw_only=True)
class Replayer:
    """Makes stored decisions again; keeps compiled versions.

    Attributes:
        candidates: the settings to decide with, by account; the pinned version where there are none.
        changes: changed settings, applied to the pinned version of each decision.
        live: asked where a recording has no answer; None: nothing is asked.
    """

    source: Pool
    candidates: Mapping[str, Account] = field(default_factory=dict)
    changes: Mapping[str, Any] = field(default_factory=dict)
    live: Ports | None = None
    _accounts: dict[tuple[str, int, UUID | None], Account | None] = field(default_factory=dict)
    _versions: dict[tuple[str, int, UUID | None, str], PinnedSettings | None] = field(default_factory=dict)

    async def replay(self, stored: StoredDecision) -> ReplayedDecision:
        """The decision made again, or why not."""
        _group, made = await self.group_of(stored, full=True)
        assert made is not None  # without shortcuts
        return made

    async def group_of(
        self, stored: StoredDecision, *, full: bool = False
    ) -> tuple[str, ReplayedDecision | None]:
        """A ``DifferenceKind``, or the ``ReplayState`` of a decision that was not made again.

        With it the decision made again; None where the candidate certainly cannot change it, which ``full``
        does not ask.
        """
        recording = _recording(stored)
        if isinstance(recording, ReplayedDecision):
            return recording.group, recording
        settings = await self.settings(stored, recording)
        if settings is None:
            sentence = f"version {recording.rules_version} of the settings is not stored"
            return ReplayState.NO_SETTINGS, _not_made(stored, ReplayState.NO_SETTINGS, sentence)
        if not full and not stored.overtaken:
            before = await self.account_of(stored, recording.rules_version)
            if before is not None and is_unchanged(recording, stored.outcome, before, settings):
                return DifferenceKind.UNCHANGED, None
        made = await self._made(stored, recording, settings)
        return made.group, made

    async def settings(self, stored: StoredDecision, recording: Recording) -> PinnedSettings | None:
        """The settings that decide: the candidate's, or those that decided then, with the changes.

        Raises:
            CandidateUnusable: the changes do not fit the settings that decided.
        """
        user_id, defaults = stored.user_id, recording.deployment.policy_defaults
        candidate = self.candidates.get(user_id)
        pinned = (-1, None) if candidate else (recording.rules_version, stored.candidate_id)
        key = (user_id, *pinned, repr(defaults))
        if key not in self._versions:
            while len(self._versions) >= MOST_VERSIONS:
                self._versions.pop(next(iter(self._versions)))
            account = candidate or await self.account_of(stored, recording.rules_version)
            if account and self.changes and not candidate:
                account = self._changed(account)
            compiled = asyncio.to_thread(pinned_settings, account, defaults) if account else None
            self._versions[key] = await compiled if compiled else None
        return self._versions[key]

    async def account_of(self, stored: StoredDecision, version: int) -> Account | None:
        """The settings that decided, with a rollout's changes; None: not stored, or unusable."""
        key = (stored.user_id, version, stored.candidate_id)
        if key not in self._accounts:
            tried = stored.candidate_id and await get_candidate(self.source, stored.candidate_id)
            with suppress(AccountRejected):
                self._accounts[key] = (
                    await candidate_account(self.source, tried)
                    if tried
                    else await base_account(self.source, stored.user_id, version)
                )
        return self._accounts.setdefault(key, None)

    def _changed(self, account: Account) -> Account:
        try:
            return changed(account, self.changes)
        except AccountRejected as error:
            names = ", ".join(sorted({name for name, _ in error.problems}))
            sentence = f"the candidate cannot be used with version {account.version} of the settings: {names}"
            raise CandidateUnusable(sentence) from error

    async def _made(
        self, stored: StoredDecision, recording: Recording, settings: PinnedSettings
    ) -> ReplayedDecision:
        other = recording.release if recording.release != __version__ else ""
        try:
            made = await replayed(
                recording,
                settings,
                decision_id=stored.decision_id,
                overtaken=stored.overtaken,
                live=self.live,
            )
        except Exception as error:  # noqa: BLE001  # one decision must not end the others
            return _not_made(stored, ReplayState.FAILED, f"{type(error).__name__} while deciding")
        again = made.decision
        return ReplayedDecision(
            stored=stored,
            state=ReplayState.MADE if again else ReplayState.NEEDS_ANSWERS,
            decision=again,
            difference=difference(stored.outcome, outcome_of(again)) if again else None,
            asked=made.asked,
            why="" if again else f"{made.missing} would have to be asked",
            other_release=other,
        )


def _recording(stored: StoredDecision) -> Recording | ReplayedDecision:
    """The recording, or why the decision cannot be made again."""
    if stored.erased:
        return _not_made(stored, ReplayState.ERASED, "the author's data was erased")
    if stored.recording is None:
        return _not_made(stored, ReplayState.NOT_RECORDED, "the decision has no recording")
    try:
        return decoded(stored.recording)
    except RecordingUnreadable as error:
        return _not_made(stored, ReplayState.UNREADABLE, str(error))


def _not_made(stored: StoredDecision, state: ReplayState, why: str) -> ReplayedDecision:
    return ReplayedDecision(stored=stored, state=state, why=why)
