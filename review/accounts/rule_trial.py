"""Rule sets tested in threads: problems, matches in one text, matches in recent messages."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, TypeVar
from uuid import UUID

from review.content_covers import cover_reason
from review.http.visit import Refused
from worker.model import Account
from worker.rules import (
    CompiledRules,
    Hit,
    Level,
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
class HitRun:
    """A run of characters of a text and the numbers of the hits over it."""

    text: str
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTrial:
    """One text under a rule set.

    Attributes:
        pieces: the text, cut where hits begin and end.
        hits: in order; number 1 is the first.
    """

    pieces: tuple[HitRun, ...]
    hits: tuple[Hit, ...]
    level: Level


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialExample:
    """A recent message that matches; without its text when the person has it covered."""

    decision_id: UUID
    hit: Hit
    before: str
    after: str
    covered: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleTrial:
    """A rule set on the recent messages of its account."""

    messages: int
    matched: int
    by_rule: tuple[tuple[str, int], ...]
    examples: tuple[TrialExample, ...]


async def problems_of(account: Account, recent: Sequence[str]) -> tuple[RuleProblem, ...]:
    """The errors and warnings of the rules, the same as on the command line."""
    return await _threaded(lambda: _problems(rule_settings(account), tuple(recent)))


async def try_text(account: Account, text: str) -> TextTrial:
    """The matches of the rules in a text, at the level of the account."""

    def run() -> TextTrial:
        hits = _compiled(rule_settings(account)).match(text)
        return TextTrial(pieces=hit_runs(text, hits), hits=hits, level=account.rule_level)

    return await _threaded(run)


async def try_messages(
    account: Account, decisions: Sequence[Mapping[str, Any]], covered: Sequence[str]
) -> RuleTrial:
    """The matches of the rules in recent messages."""
    settings = rule_settings(account)
    return await _threaded(lambda: _trial(_compiled(settings), decisions, covered))


async def compiled_rules(account: Account) -> CompiledRules:
    """The rules of an account, ready to test a text."""
    return await _threaded(lambda: _compiled(rule_settings(account)))


def hit_runs(text: str, hits: Sequence[Hit]) -> tuple[HitRun, ...]:
    """The text cut at the edges of all hits, each run with the numbers of those over it, from 1."""
    edges = sorted({0, len(text), *(hit.start for hit in hits), *(hit.end for hit in hits)})
    runs = []
    for start, end in pairwise(edges):
        numbers = (number for number, hit in enumerate(hits, 1) if hit.start <= start and end <= hit.end)
        runs.append(HitRun(text=text[start:end], numbers=tuple(numbers)))
    return tuple(runs)


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


def _trial(rules: CompiledRules, decisions: Sequence[Mapping[str, Any]], covered: Sequence[str]) -> RuleTrial:
    counts: Counter[str] = Counter()
    examples: list[TrialExample] = []
    matched = 0
    for row in decisions:
        if not (hits := rules.match(row["message_text"])):
            continue
        matched += 1
        new = next((hit for hit in hits if hit.rule not in counts), None)
        counts.update({hit.rule for hit in hits})
        if new is not None and len(examples) < EXAMPLES:
            examples.append(_example(row, new, cover_reason(covered, row)))
    return RuleTrial(
        messages=len(decisions), matched=matched, by_rule=tuple(counts.most_common(EXAMPLES)),
        examples=tuple(examples),
    )  # fmt: skip


def _example(row: Mapping[str, Any], hit: Hit, covered: tuple[str, ...]) -> TrialExample:
    text = row["message_text"]
    return TrialExample(
        decision_id=row["id"],
        hit=hit,
        before="" if covered else text[max(0, hit.start - AROUND_CHARS) : hit.start],
        after="" if covered else text[hit.end : hit.end + AROUND_CHARS],
        covered=covered,
    )
