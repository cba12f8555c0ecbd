"""A compiled rule set: immutable and shared by all matches of one account's messages."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Any

import daachorse
import orjson

from worker.displayed import ShownText, displayed, unbroken, without_flags
from worker.errors import RuleRejected
from worker.model import Author, RuleLevel
from worker.rules.conditions import all_hold
from worker.rules.folding.fold import TABLES, Fold
from worker.rules.folding.near_words import FuzzyAutomaton
from worker.rules.folding.scan import Automaton, FormIndex, MatchCandidate, find_candidates
from worker.rules.matching.boundary import has_word_edges
from worker.rules.matching.evasion import is_genuine_match
from worker.rules.matching.spelling import spelling_methods
from worker.rules.matching.strict import StrictIndex
from worker.rules.model import Hit, MatchMethod, ProblemLevel, Rule, RuleKind, RuleProblem, Switch
from worker.rules.regexes import compile_regex, regex_spans
from worker.rules.syntax import parse_rule

MAX_HITS = 100
"""Most hits of one text, which bounds the cost of a hostile text."""
MAX_MATCH_CHARS = 2000
"""Longest match, stretched and spaced letters included; a longer one is not readable."""
MIN_BROKEN = 5
"""Fewest letters of a word that is found across a line break."""
_MAGIC = b"hushgate-rules-3\n"
EXACT = str(MatchMethod.EXACT)
_NATURAL = frozenset(
    {MatchMethod.EXACT, MatchMethod.CASE, MatchMethod.WIDTH, MatchMethod.ACCENT, MatchMethod.VARIANT}
)

FoundMatches = dict[tuple[int, int, int], frozenset[MatchMethod]]
"""Rule number, start, end -> methods."""
Spellings = dict[tuple[int, Fold, str], frozenset[MatchMethod] | None]
"""Rule number, fold, matched text -> methods of spelling; cached because a hostile text repeats itself."""


@lru_cache(maxsize=16384)
def _parsed(written: str, kind: RuleKind) -> Rule:
    return parse_rule(written, kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledParts:
    """The parts of a compiled set, as the compiler lays them out.

    Attributes:
        written: every valid rule once, with its kind; an allowed text has the switch ``allow``. A rule's
            number is its index here.
        forms: for each form of the automaton the numbers of its rules.
        automaton: the serialised automaton; patterns past ``len(forms)`` are a letter three times.
        reach: folded characters around stretched letters that are read again with them.
        literals: numbers of rules without letters (emoji), found without folding.
        regexes: numbers of ``/regex/`` rules.
        fuzzy: folded letters of each fuzzy rule -> the number of that form.
        authors: numbers of rules that have conditions and no text.
        counts_authors: whether a condition reads what is counted in the stored decisions.
    """

    written: list[tuple[str, RuleKind]]
    forms: list[list[int]]
    automaton: bytes
    reach: int
    literals: list[int]
    regexes: list[int]
    fuzzy: dict[str, int]
    authors: list[int]
    counts_authors: bool


class CompiledRules:
    """One version of an account's rules, ready to match; ``match`` may be called from any thread.

    Attributes:
        version: version of the rules.
        level: level of matching.
        problems: broken rules, which are disabled; the others match.
    """

    __slots__ = ("_index", "_parts", "_regexes", "_strict", "level", "problems", "version")

    def __init__(
        self, parts: CompiledParts, *, version: int, level: RuleLevel, problems: tuple[RuleProblem, ...] = ()
    ) -> None:
        self.version = version
        self.level = level
        self.problems = problems
        self._parts = parts
        automaton: Automaton = daachorse.DoubleArrayAhoCorasick.deserialize(parts.automaton)
        if parts.fuzzy:
            automaton = FuzzyAutomaton(automaton, parts.fuzzy)
        self._index = FormIndex(automaton, len(parts.forms), parts.reach)
        self._regexes = [(number, compile_regex(self._rule(number))) for number in parts.regexes]

        self._strict = None
        if level is RuleLevel.STRICT:
            self._strict = StrictIndex((number, self._rule(number)) for number in range(len(self)))

    def __len__(self) -> int:
        return len(self._parts.written)

    def at_version(self, version: int) -> CompiledRules:
        """The same rules at another version, without compiling again."""
        same = copy(self)
        same.version = version
        return same

    def _rule(self, number: int) -> Rule:
        return _parsed(*self._parts.written[number])

    @property
    def counts_authors(self) -> bool:
        """Whether a condition reads strikes or messages of the author."""
        return self._parts.counts_authors

    @property
    def has_authors(self) -> bool:
        """Whether a rule has conditions and no text."""
        return bool(self._parts.authors)

    def fuzzy_rules(self) -> tuple[str, ...]:
        """The fuzzy rules as written."""
        numbers = {number for form in self._parts.fuzzy.values() for number in self._parts.forms[form]}
        rules = (self._rule(number) for number in sorted(numbers))
        return tuple(rule.written for rule in rules if rule.fuzzy)

    def match(self, text: str, author: Author | None = None) -> tuple[Hit, ...]:
        """All hits in the text as written and as displayed, in order; at most ``MAX_HITS``.

        Without an author, rules are tried: conditions beside a text count as met, those alone do not match.
        """
        own = () if author is None else self._author_rules(author)
        if any(Switch.ALLOW in rule.switches for rule in own):
            return ()
        hits = [
            Hit(rule=rule.written, kind=rule.kind, version=self.version, start=0, end=0, text="", how=EXACT)
            for rule in own
        ]
        hits += self._match(text, author)
        for shown, method in ((displayed(text), MatchMethod.HIDDEN), (unbroken(text), MatchMethod.BROKEN)):
            if shown is not None:
                hits += self._shown_hits(shown, text, method, hits, author)
        return tuple(sorted(hits, key=lambda hit: (hit.start, hit.end))[:MAX_HITS])

    def _author_rules(self, author: Author) -> list[Rule]:
        rules = map(self._rule, self._parts.authors)
        return [rule for rule in rules if all_hold(rule.conditions, author)]

    def _counts(self, number: int, author: Author | None) -> bool:
        """Whether the conditions of a match hold; tried, an allowed text with some cancels nothing."""
        rule = self._rule(number)
        if author is None:
            return not (rule.conditions and Switch.ALLOW in rule.switches)
        return all_hold(rule.conditions, author)

    def _shown_hits(
        self,
        shown: ShownText,
        text: str,
        method: MatchMethod,
        known: Sequence[Hit],
        author: Author | None,
    ) -> list[Hit]:
        """The further hits in a text as shown, with their places in the original."""
        places = {(hit.rule, at) for hit in known for at in range(hit.start, hit.end)}
        hits = []
        for hit in self._match(shown.text, author):
            start, end = shown.span(hit.start, hit.end)
            if (hit.rule, start) in places or (hit.rule, end - 1) in places:
                continue
            if method is MatchMethod.BROKEN and not _is_broken_word(hit, end - start):
                continue
            how = str(method) if hit.how == MatchMethod.EXACT else f"{hit.how}+{method}"
            hits.append(replace(hit, start=start, end=end, text=text[start:end], how=how))
        return hits

    def _match(self, original: str, author: Author | None) -> list[Hit]:
        """The hits in one reading of a text."""
        text = without_flags(original)
        found: FoundMatches = {}
        spellings: Spellings = {}
        forms = self._parts.forms
        for candidate in find_candidates(self._index, text):
            *_reading_and_span, form = candidate
            for number in forms[form]:
                self._add_genuine(found, spellings, number, candidate, text)
            if len(found) >= MAX_HITS:
                break
        if self._strict is not None:
            self._look_strictly(found, self._strict, text)
        if self._parts.literals:
            self._look_for_literals(found, original)
        for number, regex in self._regexes:
            found.update(
                ((number, s, e), frozenset({MatchMethod.REGEX}))
                for s, e in regex_spans(regex, original, MAX_HITS)
            )
        found = {each: how for each, how in found.items() if self._counts(each[0], author)}
        return self._hits(found, original) if found else []

    def _add_genuine(
        self, found: FoundMatches, spellings: Spellings, number: int, candidate: MatchCandidate, text: str
    ) -> None:
        """Add a candidate that spells the rule, has word edges and fits its context to ``found``."""
        reading, start, end, _form = candidate
        rule, matched = self._rule(number), reading.context.text[start:end]
        if len(matched) > MAX_MATCH_CHARS:
            return
        key = (number, reading.fold, matched)
        methods = (
            spellings[key] if key in spellings else spelling_methods(rule, reading.fold, matched, self.level)
        )
        spellings[key] = methods
        if methods is None or (Switch.ALLOW in rule.switches and not methods <= _NATURAL):
            return
        if not has_word_edges(rule, text, (start, end), methods):
            return
        if not is_genuine_match(rule, reading.fold, reading.context, (start, end), methods):
            return
        place = (number, start, _with_marks(text, end))
        if place not in found or len(methods) < len(found[place]):
            found[place] = methods

    def _look_strictly(self, found: FoundMatches, strict: StrictIndex, text: str) -> None:
        for number, start, end, how in strict.find(text):
            rule = self._rule(number)
            if Switch.NO_SPACING in rule.switches and how in {MatchMethod.SEPARATED, MatchMethod.MASKED}:
                continue
            if Switch.ALLOW not in rule.switches and Switch.CASE not in rule.switches:
                found.setdefault((number, start, end), frozenset({how}))
            if len(found) >= MAX_HITS:
                return

    def _look_for_literals(self, found: FoundMatches, text: str) -> None:
        for number in self._parts.literals:
            places = re.finditer(re.escape(self._rule(number).core), text)
            for place in islice(places, max(0, MAX_HITS - len(found))):
                found[number, *place.span()] = frozenset({MatchMethod.EXACT})

    def _hits(self, found: FoundMatches, text: str) -> list[Hit]:
        allowed = [
            (start, end) for number, start, end in found if Switch.ALLOW in self._rule(number).switches
        ]
        hits = []
        last: dict[int, int] = {}
        for (number, start, end), methods in sorted(found.items(), key=lambda item: (item[0][1], item[0][2])):
            rule = self._rule(number)
            cancelled = any(first <= start and end <= stop for first, stop in allowed)
            if cancelled or start < last.get(number, 0):
                continue
            last[number] = end
            hits.append(
                Hit(
                    rule=rule.written, kind=rule.kind, version=self.version,
                    start=start, end=end, text=text[start:end], how=_name(methods),
                )
            )  # fmt: skip
        return hits[:MAX_HITS]

    def to_bytes(self) -> bytes:
        """The set as bytes: header line, digest, parts as JSON, automaton."""
        parts = self._parts
        tables = {name: getattr(parts, name) for name in CompiledParts.__slots__ if name != "automaton"}
        head = orjson.dumps(
            {"version": self.version, "level": self.level, "problems": self.problems, "tables": tables}
        )
        body = len(head).to_bytes(8, "big") + head + parts.automaton
        return _MAGIC + hashlib.sha256(body).digest() + body

    @classmethod
    def from_bytes(cls, data: bytes) -> CompiledRules:
        """The set from the bytes of ``to_bytes``.

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
        tables = head["tables"]
        tables["written"] = [(rule, RuleKind(kind)) for rule, kind in tables["written"]]
        problems = tuple(
            RuleProblem(**problem | {"level": ProblemLevel(problem["level"])}) for problem in head["problems"]
        )
        parts = CompiledParts(automaton=body[8 + size :], **tables)
        return cls(parts, version=head["version"], level=RuleLevel(head["level"]), problems=problems)


def _is_broken_word(hit: Hit, length: int) -> bool:
    """Whether a hit is one word, long enough that two words of a text do not make it, with a break inside."""
    word = hit.text
    return length > len(word) >= MIN_BROKEN and word.isalpha()


def _with_marks(text: str, end: int) -> int:
    """The end moved past the combining marks of the last letter."""
    native = TABLES[Fold.NATIVE]
    while end < len(text) and native[ord(text[end])] == "":
        end += 1
    return end


def _name(methods: frozenset[MatchMethod]) -> str:
    named = [method for method in MatchMethod if method in methods and method is not MatchMethod.EXACT]
    return "+".join(named) or MatchMethod.EXACT
