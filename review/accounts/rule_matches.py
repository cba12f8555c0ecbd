"""What a rule set matches in one text and in recent messages, and its problems; computed in threads."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeVar
from uuid import UUID

from db.access_log import LoggedAction
from db.account_settings import accounts
from review.content_covers import cover_reason
from review.http.visit import Refused, Visit
from review.marked_text import MarkedRun, marked_runs
from worker.model import Account, RuleLevel
from worker.rules import (
    CompiledRules,
    Hit,
    RuleProblem,
    RuleSettings,
    compile_rules,
    rule_settings,
    validate_rules,
)

Value = TypeVar("Value")
TEXT_CHARS: Final = 10_000
RECENT: Final = 1_000
EXAMPLES: Final = 8
AROUND_CHARS: Final = 60
PATIENCE_S: Final = 60.0
THREADS: Final = ThreadPoolExecutor(max_workers=2, thread_name_prefix="rules")
"""Two at a time; others wait, so that large rule sets cannot take the whole machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextMatches:
    """What a rule set matches in one text.

    Attributes:
        runs: the text, cut where hits begin and end.
        hits: in order; number 1 is the first.
    """

    runs: tuple[MarkedRun, ...]
    hits: tuple[Hit, ...]
    level: RuleLevel


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchExample:
    """A recent message that matches; without its text when the person has it covered."""

    decision_id: UUID
    hit: Hit
    before: str
    after: str
    covered: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentMatches:
    """What a rule set matches in the recent messages of its account."""

    messages: int
    matched: int
    by_rule: tuple[tuple[str, int], ...]
    examples: tuple[MatchExample, ...]


async def problems_of(account: Account, recent: Sequence[str]) -> tuple[RuleProblem, ...]:
    """The errors and warnings of the rules, the same as on the command line."""
    return await _threaded(lambda: _problems(rule_settings(account), tuple(recent)))


async def try_text(account: Account, text: str) -> TextMatches:
    """The matches of the rules in a text, at the level of the account."""

    def run() -> TextMatches:
        hits = _compiled(rule_settings(account)).match(text)
        spans = {number: (hit.start, hit.end) for number, hit in enumerate(hits, 1)}
        return TextMatches(runs=marked_runs(text, spans), hits=hits, level=account.rule_level)

    return await _threaded(run)


async def try_messages(
    account: Account, decisions: Sequence[Mapping[str, Any]], covered: Sequence[str]
) -> RecentMatches:
    """The matches of the rules in recent messages."""
    settings = rule_settings(account)
    return await _threaded(lambda: _recent_matches(_compiled(settings), decisions, covered))


async def load_recent_matches(visit: Visit, account: Account) -> RecentMatches:
    """The matches of the rules in the account's recent messages; the access log has the texts shown."""
    decisions = await accounts.recent_decisions(visit.store.pool, account.user_id, RECENT)
    found = await try_messages(account, decisions, visit.person.covered)
    if shown := [str(each.decision_id) for each in found.examples if not each.covered]:
        detail = {"page": "rules", "decisions": shown}
        await visit.log(LoggedAction.READ, user_id=account.user_id, detail=detail)
    return found


async def compiled_rules(account: Account) -> CompiledRules:
    """The rules of an account, ready to test a text."""
    return await _threaded(lambda: _compiled(rule_settings(account)))


async def _threaded(work: Callable[[], Value]) -> Value:
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await asyncio.get_running_loop().run_in_executor(THREADS, work)
    except TimeoutError as error:
        message = "Other rule sets are being checked. Nothing was stored: try again in a minute."
        raise Refused(503, "Too busy", message) from error


@lru_cache(maxsize=4)
def _compiled(settings: RuleSettings) -> CompiledRules:
    keywords, phrases, allow, level = settings
    return compile_rules(keywords, phrases, allow=allow, version=0, level=level)


@lru_cache(maxsize=4)  # used when saving, and by the page that follows
def _problems(settings: RuleSettings, recent: tuple[str, ...]) -> tuple[RuleProblem, ...]:
    keywords, phrases, allow, level = settings
    return validate_rules(keywords, phrases, allow=allow, recent_messages=recent, level=level)


def _recent_matches(
    rules: CompiledRules, decisions: Sequence[Mapping[str, Any]], covered: Sequence[str]
) -> RecentMatches:
    counts: Counter[str] = Counter()
    examples: list[MatchExample] = []
    matched = 0
    for row in decisions:
        if not (hits := rules.match(row["message_text"])):
            continue
        matched += 1
        new = next((hit for hit in hits if hit.rule not in counts), None)
        counts.update({hit.rule for hit in hits})
        if new is not None and len(examples) < EXAMPLES:
            examples.append(_example(row, new, cover_reason(covered, row)))
    return RecentMatches(
        messages=len(decisions), matched=matched, by_rule=tuple(counts.most_common(EXAMPLES)),
        examples=tuple(examples),
    )  # fmt: skip


def _example(row: Mapping[str, Any], hit: Hit, covered: tuple[str, ...]) -> MatchExample:
    text = row["message_text"]
    return MatchExample(
        decision_id=row["id"],
        hit=hit,
        before="" if covered else text[max(0, hit.start - AROUND_CHARS) : hit.start],
        after="" if covered else text[hit.end : hit.end + AROUND_CHARS],
        covered=covered,
    )
