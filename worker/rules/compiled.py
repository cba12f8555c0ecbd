"""A compiled rule set: immutable, shared by all who match one account's messages."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import daachorse
import orjson

from worker.errors import RuleRejected
from worker.rules.boundary import bounded
from worker.rules.fold import TABLES, Fold
from worker.rules.innocence import fair
from worker.rules.model import Hit, How, Level, ProblemLevel, Rule, RuleKind, RuleProblem, Switch
from worker.rules.regexes import compile_regex, spans
from worker.rules.scan import Candidate, Matcher, candidates
from worker.rules.strict import StrictIndex
from worker.rules.syntax import parse_rule
from worker.rules.verify import spelled

MAX_HITS = 100
"""Hits of one text; more of them say nothing new and would make a hostile text expensive."""
MAX_MATCH_CHARS = 2000
"""Longest match, stretched and spaced letters included: what is longer cannot be read by anyone."""
_MAGIC = b"hushgate-rules-1\n"
_ORDER = {how: at for at, how in enumerate(How)}
_NATURAL = frozenset({How.EXACT, How.CASE, How.WIDTH, How.ACCENT, How.VARIANT})

Found = dict[tuple[int, int, int], frozenset[How]]
"""Rule number, start, end -> how."""
Spellings = dict[tuple[int, Fold, str], frozenset[How] | None]
"""Rule number, fold, matched text -> how it spells the rule: a hostile text repeats itself."""


@lru_cache(maxsize=16384)
def _parsed(written: str, kind: RuleKind) -> Rule:
    return parse_rule(written, kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a compiled set is made of, as the compiler lays it out.

    Attributes:
        written: every working rule as written, with its kind; a rule's number is its place here.
        forms: for each form of the automaton the numbers of the rules it may be.
        automaton: the serialised automaton; patterns past ``len(forms)`` are runs of three letters.
        reach: folded characters around stretched letters that must be seen with them.
        literals: numbers of rules without letters (emoji), looked for as they are.
        regexes: numbers of ``/regex/`` rules.
    """

    written: list[tuple[str, RuleKind]]
    forms: list[list[int]]
    automaton: bytes
    reach: int
    literals: list[int]
    regexes: list[int]


class CompiledRules:
    """What one account's rules are at one version; ``match`` may be called from any thread.

    Attributes:
        version: of the rules it was made from.
        level: how hard it looks.
        problems: broken rules, which are disabled; the others work.
    """

    __slots__ = ("_matcher", "_parts", "_regexes", "_strict", "level", "problems", "version")

    def __init__(
        self, parts: Parts, *, version: int, level: Level, problems: tuple[RuleProblem, ...] = ()
    ) -> None:
        self.version = version
        self.level = level
        self.problems = problems
        self._parts = parts
        automaton = daachorse.DoubleArrayAhoCorasick.deserialize(parts.automaton)
        self._matcher = Matcher(automaton, len(parts.forms), parts.reach)
        self._regexes = [(number, compile_regex(self._rule(number))) for number in parts.regexes]

        self._strict = None
        if level is Level.STRICT:
            self._strict = StrictIndex((number, self._rule(number)) for number in range(len(self)))

    def __len__(self) -> int:
        return len(self._parts.written)

    def _rule(self, number: int) -> Rule:
        return _parsed(*self._parts.written[number])

    def match(self, text: str) -> tuple[Hit, ...]:
        """Every hit in the text, in order; at most ``MAX_HITS``."""
        found: Found = {}
        spellings: Spellings = {}
        forms = self._parts.forms
        for candidate in candidates(self._matcher, text):
            for number in forms[candidate[3]]:
                self._consider(found, spellings, number, candidate, text)
            if len(found) >= MAX_HITS:
                break
        if self._strict is not None:
            self._look_strictly(found, self._strict, text)
        if self._parts.literals:
            self._look_for_literals(found, text)
        for number, regex in self._regexes:
            found.update(((number, s, e), frozenset({How.REGEX})) for s, e in spans(regex, text, MAX_HITS))
        return self._hits(found, text) if found else ()

    def _consider(
        self, found: Found, spellings: Spellings, number: int, candidate: Candidate, text: str
    ) -> None:
        """Adds the candidate to what was found when it really is the rule and stands where a word does."""
        reading, start, end, _ = candidate
        rule, matched = self._rule(number), reading.context.text[start:end]
        if len(matched) > MAX_MATCH_CHARS:
            return
        key = (number, reading.fold, matched)
        hows = spellings[key] if key in spellings else spelled(rule, reading.fold, matched, self.level)
        spellings[key] = hows
        if hows is None or (Switch.ALLOW in rule.switches and not hows <= _NATURAL):
            return
        if not bounded(rule, text, (start, end), hows):
            return
        if not fair(rule, reading.fold, reading.context, (start, end), hows):
            return
        place = (number, start, _with_marks(text, end))
        if place not in found or len(hows) < len(found[place]):
            found[place] = hows

    def _look_strictly(self, found: Found, strict: StrictIndex, text: str) -> None:
        for number, start, end, how in strict.find(text):
            rule = self._rule(number)
            if Switch.NO_SPACING in rule.switches and how in {How.SEPARATED, How.MASKED}:
                continue
            if Switch.ALLOW not in rule.switches and Switch.CASE not in rule.switches:
                found.setdefault((number, start, end), frozenset({how}))
            if len(found) >= MAX_HITS:
                return

    def _look_for_literals(self, found: Found, text: str) -> None:
        for number in self._parts.literals:
            core = self._rule(number).core
            at = text.find(core)
            while at >= 0 and len(found) < MAX_HITS:
                found[number, at, at + len(core)] = frozenset({How.EXACT})
                at = text.find(core, at + len(core))

    def _hits(self, found: Found, text: str) -> tuple[Hit, ...]:
        allowed = [
            (start, end) for number, start, end in found if Switch.ALLOW in self._rule(number).switches
        ]
        hits = []
        last: dict[int, int] = {}
        for (number, start, end), hows in sorted(found.items(), key=lambda item: (item[0][1], item[0][2])):
            rule = self._rule(number)
            cancelled = any(first <= start and end <= stop for first, stop in allowed)
            if cancelled or start < last.get(number, 0):
                continue
            last[number] = end
            hits.append(
                Hit(
                    rule=rule.written, kind=rule.kind, version=self.version,
                    start=start, end=end, text=text[start:end], how=_name(hows),
                )
            )  # fmt: skip
        return tuple(hits[:MAX_HITS])

    def to_bytes(self) -> bytes:
        """The set as bytes: a header line, a digest, the parts as JSON, the automaton."""
        parts = self._parts
        head = orjson.dumps(
            {
                "version": self.version,
                "level": self.level,
                "written": parts.written,
                "forms": parts.forms,
                "reach": parts.reach,
                "literals": parts.literals,
                "regexes": parts.regexes,
                "problems": [[p.level, p.rule, p.code, p.message] for p in self.problems],
            }
        )
        body = len(head).to_bytes(8, "big") + head + parts.automaton
        return _MAGIC + hashlib.sha256(body).digest() + body

    @classmethod
    def from_bytes(cls, data: bytes) -> CompiledRules:
        """The set that ``to_bytes`` wrote.

        Raises:
            RuleRejected: the bytes are of another format or were changed.
        """
        digest, body = data[len(_MAGIC) : len(_MAGIC) + 32], data[len(_MAGIC) + 32 :]
        if not data.startswith(_MAGIC) or hashlib.sha256(body).digest() != digest:
            raise RuleRejected(
                "*", "the serialised rule set is of another format or damaged: compile it again"
            )
        size = int.from_bytes(body[:8], "big")
        head: dict[str, Any] = orjson.loads(body[8 : 8 + size])
        parts = Parts(
            written=[(rule, RuleKind(kind)) for rule, kind in head["written"]],
            forms=head["forms"],
            automaton=body[8 + size :],
            reach=head["reach"],
            literals=head["literals"],
            regexes=head["regexes"],
        )
        problems = tuple(
            RuleProblem(level=ProblemLevel(level), rule=rule, code=code, message=message)
            for level, rule, code, message in head["problems"]
        )
        return cls(parts, version=head["version"], level=Level(head["level"]), problems=problems)


def _with_marks(text: str, end: int) -> int:
    """The end moved past accents that sit on the last letter."""
    native = TABLES[Fold.NATIVE]
    while end < len(text) and native[ord(text[end])] == "":
        end += 1
    return end


def _name(hows: frozenset[How]) -> str:
    named = sorted(hows - {How.EXACT}, key=_ORDER.__getitem__)
    return "+".join(named) if named else How.EXACT
