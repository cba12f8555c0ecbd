"""Rules as accounts write them: one by one, as a set, and as files of other tools."""

from __future__ import annotations

from typing import Final

from fuzz.target import Target, as_text, require, require_storable
from worker.errors import RuleRejected
from worker.model import RuleLevel
from worker.rules import CompiledRules, compile_rules, validate_rules
from worker.rules.formats import RuleList, RuleListFormat, read_rules, write_rules

SIGNS: Final = (
    *"\x00\n/*~{}@$#,:;-'\"\\[]()|^.+?",
    "{exact_accents}", "{no_leet}", "{case}", "{substring}", "{allow}", "{starts}", "{ends}", "{full_exact}",
    "spam", "free money", "~unsubscribe", "/buy (now|here)/", "*bitcoin*", "赌博", "ควาย", "😀", "а", "ａ",
    "\u0301", "\u200b", "\ufffd", "[[:alpha:]]{1,1000}", "(?i)", "\\pL",
)  # fmt: skip
ROUND_TRIP: Final = (RuleListFormat.CSV, RuleListFormat.JSON)


def check_rules(data: bytes) -> None:
    """A set compiles with its problems named; hits are parts of the text, also after it was stored."""
    parts = [part.split("\n") for part in as_text(data).split("\0")] + [[], [], []]
    keywords, phrases, allow, texts = parts[:4]
    level = RuleLevel.STRICT if len(data) % 2 else RuleLevel.DEFAULT
    recent = texts * 20 if len(data) % 8 == 0 else texts  # 20 are enough to count hits, which takes time
    problems = validate_rules(keywords, phrases, allow=allow, recent_messages=recent, level=level)
    compiled = compile_rules(keywords, phrases, allow=allow, version=1, level=level)
    require_storable([problem.message for problem in (*problems, *compiled.problems)])
    stored = CompiledRules.from_bytes(compiled.to_bytes())
    for text in (*texts, *keywords):
        hits = compiled.match(text)
        require(hits == stored.match(text), "other hits after the set was stored", text)
        for hit in hits:
            require(0 <= hit.start < hit.end <= len(text), "outside the text", hit)
            require(text[hit.start : hit.end] == hit.text, "another text", hit)


def check_file(data: bytes) -> None:
    """A file is rules or RuleRejected; rules written as CSV or JSON are read as the same rules."""
    number, text = data[:1], as_text(data[1:])
    kind = tuple(RuleListFormat)[(number[0] if number else 0) % len(RuleListFormat)]
    try:
        found = read_rules(text, kind)
    except RuleRejected:
        return
    for each in RuleListFormat:
        write_rules(found, each)
    for each in ROUND_TRIP:
        again = read_rules(write_rules(found, each), each)
        require(_rules(again) == _rules(found), f"other rules by way of {each}", again, found)


def _rules(found: RuleList) -> tuple[tuple[str, ...], ...]:
    return found.keywords, found.phrases, found.allow


TARGETS: Final = (
    Target(
        name="rules",
        about="Every set of rules compiles with its problems named, and each hit is a part of the text.",
        check=check_rules,
        words=SIGNS,
        seeds=(
            b"spam\n~unsubscribe\n/b[ui]y now/\n*coin*\0free money {no_leet}\0spam filter\0fr33 m0ney sp@m",
            "赌博\nควาย\n😀\0\0\0赌 博 😀".encode(),
        ),
        most_bytes=2048,
    ),
    Target(
        name="rule_files",
        about="A file is rules or rejected; rules written as CSV or JSON are read as the same rules.",
        check=check_file,
        words=(*SIGNS, "kind,rule\n", '{"keywords": [', '"phrases":', '"allow":', "title+body (regex): ",
               "---\n", "body (includes, case-sensitive): [", "&a ", "*a", "!!python/object:", "<<: "),
        seeds=(
            b"\0spam\nfree money\n# note\nspam filter {allow}",
            b"\1kind,rule\nkeyword,spam\nphrase,free money\nallow,spam filter\n",
            b'\2{"keywords": ["spam"], "phrases": ["free money"], "allow": ["spam filter"]}',
            b"\3---\ntitle+body (regex, case-sensitive): ['buy (now|here)']\naction: filter\n",
            b"\4spam, free money, *coin*",
        ),
    ),
)  # fmt: skip
