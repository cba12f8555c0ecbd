"""Computes the suggestions of each account once a day, while the server runs."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

import structlog

from db.account_settings.accounts import current_account
from db.audit.search import TooSlow
from db.review_store import Store
from review.http.visit import Site
from trials.pure.suggestions.drift import NEW_WEEKS, ReplyWeek, drift_suggestions
from trials.pure.suggestions.model import LearningSuggestion, SeenMessage, SuggestionKind
from trials.pure.suggestions.questions import document_suggestions
from trials.pure.suggestions.rules import rule_suggestions
from trials.pure.suggestions.words import word_suggestions
from trials.store import suggestion_material as material
from trials.store import suggestions as stored
from worker.errors import StorageUnavailable, is_outage

log = structlog.get_logger(__name__)

LOOK_S: Final = 300.0
AT_ONCE: Final = 20
"""Accounts of one look, one after the other."""
BETWEEN: Final = timedelta(hours=23)
DAYS: Final = 90
QUESTION_DAYS: Final = 30
WEEKS: Final = 8


async def run_suggesting(site: Site) -> None:
    """Look every five minutes, until cancelled; during an outage of Postgres, look again."""
    while True:
        await asyncio.sleep(LOOK_S)
        try:
            await compute_due(site.store, site.now())
        except StorageUnavailable as error:
            log.warning("suggestions_postponed", kind=error.kind)


async def compute_due(store: Store, now: datetime) -> int:
    """Compute the suggestions of accounts that are due; how many were computed."""
    since, done = now - BETWEEN, 0
    for user_id in await stored.accounts_to_suggest(store.pool, since=since, limit=AT_ONCE):
        if not await stored.claim_account(store.pool, user_id, now=now, since=since):
            continue
        try:
            await compute_suggestions(store, user_id, now)
        except TooSlow:
            log.warning("suggestions_too_slow", account=user_id)
        except Exception as error:  # the other accounts are computed; this one again after ``BETWEEN``
            if is_outage(error):
                await stored.release_account(store.pool, user_id, now=now)
                raise
            log.exception("suggestions_failed", account=user_id, exc_info=error)
        else:
            done += 1
    return done


async def compute_suggestions(store: Store, user_id: str, now: datetime) -> tuple[LearningSuggestion, ...]:
    """Compute and store the suggestions of an account.

    Raises:
        TooSlow: what they are computed from could not be read in time.
    """
    account, since = await current_account(store.pool, user_id), now - timedelta(days=DAYS)
    read = store.read_lists
    stopped, replied = await read(lambda each: material.reviewed_messages(each, user_id, since, now))
    sent = await read(lambda each: material.sent_messages(each, user_id, since))
    asked_since = now - timedelta(days=QUESTION_DAYS)
    questions = await read(lambda each: material.unanswered_questions(each, user_id, asked_since))
    called_wrong = await read(lambda each: material.messages_called_wrong(each, user_id, asked_since))
    weeks, earlier = await _weeks(store, user_id, now)
    missed, others = _divided(replied, sent)

    def computed() -> tuple[LearningSuggestion, ...]:
        return (
            *rule_suggestions(account, stopped),
            *word_suggestions(account, missed, others),
            *document_suggestions(questions),
            *document_suggestions(called_wrong, SuggestionKind.FEEDBACK),
            *drift_suggestions(weeks, earlier if earlier != account.prompt else None),
        )

    found = await asyncio.to_thread(computed)
    counted = {
        "days": DAYS,
        "reviewed": len(stopped) + len(replied),
        "sent": len(sent),
        "questions": len(questions),
    }
    await stored.store_suggestions(store.pool, user_id, found, material=counted, now=now)
    return found


async def _weeks(store: Store, user_id: str, now: datetime) -> tuple[tuple[ReplyWeek, ...], str | None]:
    """Whole weeks up to midnight of UTC, and the prompt before the newest of them."""
    until = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    since, changed = until - WEEKS * material.WEEK, until - NEW_WEEKS * material.WEEK
    weeks = await store.read_lists(lambda each: material.reply_weeks(each, user_id, since, WEEKS, now=now))
    return weeks, await store.read_lists(lambda each: material.prompt_at(each, user_id, changed))


def _divided(
    replied: tuple[SeenMessage, ...], sent: tuple[SeenMessage, ...]
) -> tuple[list[SeenMessage], list[SeenMessage]]:
    """Messages whose replies were overturned, and the others that got replies, with their rulings."""
    known: dict[UUID, SeenMessage] = {each.decision_id: each for each in replied}
    missed = [each for each in replied if each.ruling == "overturn"]
    others = {each.decision_id: known.get(each.decision_id, each) for each in (*sent, *replied)}
    return missed, [each for each in others.values() if each.ruling != "overturn"]
