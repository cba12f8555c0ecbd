"""Speed of the rule matcher compared with others: ``make bench-rules``; a table, and JSON in ``out/``.

One core, CPU time (a busy machine must not change the figures), best of three. Rules and texts are made-up
words from a fixed seed; one text in a hundred contains a rule, so that texts with and without a hit are
measured. The raw automaton gets folded text and only finds substrings: it is the upper limit, not a matcher.
Libraries that are not installed (group ``bench``) are left out.
"""

from __future__ import annotations

import importlib
import json
import random
import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from worker.rules import compile_rules
from worker.rules.compiler import MAX_FUZZY_RULES
from worker.rules.syntax import MIN_FUZZY

OUT = Path("out/bench-rules.json")
SEED = 20261121
BUDGET_S = 0.4
ONSETS = ("b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "t", "w", "st", "th", "tr", "pl", "ch")
CODAS = ["", "", "n", "r", "t", "l", "s"]
HOSTILE = {
    "one letter": "a", "zalgo": "a\u0301", "zero width": "a\u200b",
    "spaced": "a s s h o l e ", "dotted": "a.s.s.",
    "leet": "a$$h0l3 ", "digits": "1", "l, 1 and bars": "l1|!",
    "Cyrillic looks": "а", "Han": "赌博", "Thai": "ควาย",
    "Hangul": "바 보 ", "emoji": "😀", "address": "http://a/?a=a&", "true hits": "ass ",
}  # fmt: skip
"""Texts of 10,000 characters made by repeating one of these."""

Scanner = Callable[[str], object]


def _word(rng: random.Random) -> str:
    syllables = (
        rng.choice(ONSETS) + rng.choice("aeiou") + rng.choice(CODAS) for _ in range(rng.randrange(2, 5))
    )
    return "".join(syllables)


def words(count: int, seed: int) -> list[str]:
    """Distinct made-up words without three equal letters in a row."""
    rng, found = random.Random(seed), dict[str, None]()
    while len(found) < count:
        word = _word(rng)
        if not re.search(r"(.)\1\1", word) and len(word) > 4:
            found[word] = None
    return list(found)


def texts(count: int, length: int, rules: Sequence[str], innocent: Sequence[str]) -> list[str]:
    """Messages of about that many characters; one in a hundred holds a rule."""
    rng, made = random.Random(SEED + length), []
    for number in range(count):
        parts = [rng.choice(rules)] if number % 100 == 0 else []
        while sum(map(len, parts)) < length:
            word = rng.choice(innocent)
            word = word.capitalize() if rng.random() < 0.08 else word
            parts += [word, rng.choices([" ", ", ", ". ", "! ", "'s ", " 20 "], [86, 5, 5, 1, 2, 1])[0]]
        made.append("".join(parts))
    return made


def rate(scan: Scanner, messages: Sequence[str]) -> float:
    """Messages a second, best of three rounds; a slow scanner is timed on as many as fit ``BUDGET_S``."""
    best, count = 0.0, len(messages)
    for _ in range(3):
        began, done = time.process_time(), 0
        for message in messages[:count]:
            scan(message)
            done += 1
            if done % 16 == 0 and time.process_time() - began > BUDGET_S:
                break
        best, count = max(best, done / (time.process_time() - began)), done
    return best


def _optional(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def others(rules: Sequence[str]) -> dict[str, tuple[Scanner, bool]]:
    """Each other matcher with these rules, and whether it needs folded texts."""
    found: dict[str, tuple[Scanner, bool]] = {}
    if rs := _optional("ahocorasick_rs"):
        raw = rs.AhoCorasick(rules)
        found["ahocorasick_rs, raw"] = (
            lambda text: raw.find_matches_as_indexes(text, overlapping=True),
            True,
        )
    if py := _optional("ahocorasick"):
        trie = py.Automaton()
        for rule in rules:
            trie.add_word(rule, rule)
        trie.make_automaton()
        found["pyahocorasick, raw"] = (lambda text: list(trie.iter(text)), True)
    if len(rules) <= 10_000:
        pattern = re.compile(r"\b(?:" + "|".join(map(re.escape, rules)) + r")\b", re.IGNORECASE)
        found["re, one alternation"] = (pattern.search, False)
    if len(rules) <= 1_000 and (better := _optional("better_profanity")):
        better.profanity.load_censor_words(list(rules))
        found["better-profanity"] = (better.profanity.contains_profanity, False)
    if len(rules) <= 10_000 and (glin := _optional("glin_profanity")):
        checker = glin.Filter({"custom_words": list(rules), "languages": [], "detect_leetspeak": True})
        found["glin-profanity"] = (checker.is_profane, False)
    return found


def compare(counts: Sequence[int], lengths: Sequence[int], sample: int) -> list[dict[str, object]]:
    """Messages a second of every matcher for every number of rules and length of text."""
    rows: list[dict[str, object]] = []
    innocent = words(20_000, SEED)
    taken = set(innocent)
    for count in counts:
        made = [word for word in words(count + 20_000, SEED + 1) if word not in taken][:count]
        began = time.process_time()
        compiled = compile_rules(made, version=1)
        compile_s = time.process_time() - began
        data = compiled.to_bytes()
        began = time.process_time()
        type(compiled).from_bytes(data)
        load_s = time.process_time() - began
        scanners = {"hushgate": (compiled.match, False), **others(made)}
        if count <= MAX_FUZZY_RULES:
            fuzzy = compile_rules([f"~{rule}" for rule in made if len(rule) >= MIN_FUZZY], version=1)
            scanners["hushgate, all fuzzy"] = (fuzzy.match, False)
        for length in lengths:
            plain = texts(max(sample * 100 // length, 200), length, made, innocent)
            folded = [" ".join(re.sub(r"[^a-z0-9]", " ", text.lower()).split()) for text in plain]
            for name, (scan, wants_folded) in scanners.items():
                speed = rate(scan, folded if wants_folded else plain)
                rows.append({"rules": count, "chars": length, "matcher": name, "per_s": round(speed)})
        rows.append(
            {"rules": count, "compile_s": round(compile_s, 3), "load_s": round(load_s, 3), "bytes": len(data)}
        )
    return rows


def hostile() -> list[dict[str, object]]:
    """Milliseconds for 10,000 and 20,000 characters of each hostile text with 10,000 rules."""
    rules = [
        *words(9_990, SEED + 2),
        "ass",
        "asshole",
        "kill",
        "lil",
        "赌博",
        "바보",
        "ควาย",
        "a$$",
        "hell",
        "сука",
    ]
    compiled = compile_rules(rules, version=1)
    fuzzy = compile_rules(
        [*rules, *(f"~{word}" for word in words(1_200, SEED + 3) if len(word) >= MIN_FUZZY)], version=1
    )
    pieces = HOSTILE | {"distinct words": " ".join(words(3_000, SEED + 4))}
    rows: list[dict[str, object]] = []
    for name, piece in pieces.items():
        row: dict[str, object] = {"hostile": name}
        for length in (10_000, 20_000):
            text = (piece * (length // len(piece) + 1))[:length]
            row[f"ms_{length}"] = round(1000 / rate(compiled.match, [text] * 5), 2)
            row[f"fuzzy_ms_{length}"] = round(1000 / rate(fuzzy.match, [text] * 5), 2)
        rows.append(row)
    return rows


def main() -> None:
    """Prints the figures."""
    quick = "--quick" in sys.argv
    rows = compare(
        (10, 1_000) if quick else (10, 1_000, 10_000, 100_000), (100, 2_000), 2_000 if quick else 20_000
    )
    rows += hostile()
    table = Table(title="rule matchers, one core")
    for column in ("rules", "characters", "matcher", "messages/s"):
        table.add_column(column, justify="right")
    for row in rows:
        if "per_s" in row:
            table.add_row(
                *(
                    f"{row[key]:,}" if isinstance(row[key], int) else str(row[key])
                    for key in ("rules", "chars", "matcher", "per_s")
                )
            )
    Console().print(table)
    times = Table(
        "text of 10,000 characters", "ms", "ms with 1,000 fuzzy rules more", "ms for 20,000", "with fuzzy",
        title="hostile texts, 10,000 rules",
    )  # fmt: skip
    for row in rows:
        if "hostile" in row:
            times.add_row(*map(str, row.values()))
    Console().print(times)
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    print(f"figures written to {OUT}")


if __name__ == "__main__":
    main()
