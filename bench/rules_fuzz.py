"""A million generated texts through the matcher: ``python -m bench.rules_fuzz [texts] [seed]``.

Ends with exit code 1 at the first exception or the first span that is not the matched text.
"""

from __future__ import annotations

import json
import random
import sys
import time

from worker.model import RuleLevel
from worker.rules import compile_rules

RULES = [
    "spam", "ass", "asshole", "viagra", "kill yourself", "a$$", "don't",
    "#tag", "pre*", "*suf", "*any*", "赌博",
    "加微信",
    "바보", "ควาย", "сука", "дурень", "μαλάκας", "קללה", "قمار", "चूतिया",
    "エロ", "địt mẹ", "straße", "2 girls 1 cup", "🍆",
    "/fr[e3]+ ?money/",
    "hora {exact_accents}", "IT {case}", "smart ass {allow}", "first {full}", "go {starts}",
]  # fmt: skip
SEPARATORS = [" ", ".", "-", "*", "_", "/", "|", " . ", ", ", "\u200b", "\u00a0", "•", "!", "+", "\n", ""]
RANGES = [
    (0x20, 0x7F), (0x20, 0x7F), (0x20, 0x7F), (0xA0, 0x250), (0x300, 0x370), (0x370, 0x530),
    (0x590, 0x780), (0x900, 0x980),
    (0xE00, 0xE80), (0x1100, 0x1200), (0x2000, 0x2070), (0x3040, 0x3100), (0x4E00, 0x5200), (0xAC00, 0xAE00),
    (0xD800, 0xE000),
    (0xFE00, 0x10000), (0x1D400, 0x1D800), (0x1F100, 0x1F700), (0xE0000, 0xE0200), (0, 0x110000),
]  # fmt: skip
LEET = {"a": "4@", "e": "3", "i": "1!|", "l": "1|", "o": "0", "s": "5$", "t": "7+", "b": "8", "g": "9"}


def disguised(word: str, rng: random.Random) -> str:
    """A rule's letters with random separators, leet, combining marks and repeats."""
    gap = rng.choice(SEPARATORS)
    letters = []
    for char in word:
        spelled = rng.choice(LEET[char]) if char in LEET and rng.random() < 0.3 else char
        if rng.random() < 0.1:
            spelled += chr(rng.randrange(0x300, 0x370))
        letters.append(spelled * (rng.randrange(2, 6) if rng.random() < 0.1 else 1))
    return gap.join(letters) if rng.random() < 0.4 else "".join(letters)


def noise(rng: random.Random) -> str:
    """A few code points of one or another block, surrogates and unassigned ones included."""
    low, high = rng.choice(RANGES)
    return "".join(chr(rng.randrange(low, high)) for _ in range(rng.randrange(1, 12)))


def generated(rng: random.Random) -> str:
    """A text of one to eight pieces."""
    pieces = (
        disguised(rng.choice(RULES).split("{")[0].strip("*/"), rng) if rng.random() < 0.45 else noise(rng)
        for _ in range(rng.randrange(1, 8))
    )
    return rng.choice(SEPARATORS).join(pieces)


def main(texts: int = 1_000_000, seed: int = 20261121) -> int:
    """Runs the texts through both levels; prints one JSON line."""
    rng = random.Random(seed)
    sets = [compile_rules(RULES, version=1), compile_rules(RULES, version=1, level=RuleLevel.STRICT)]
    began, hits, fired = time.perf_counter(), 0, 0
    for number in range(texts):
        text = generated(rng)
        try:
            found = sets[number % 8 == 0].match(text)
            wrong = [hit for hit in found if text[hit.start : hit.end] != hit.text or hit.start >= hit.end]
        except Exception as error:  # noqa: BLE001  # any exception is the finding
            print(json.dumps({"text": ascii(text), "number": number, "error": repr(error)}))
            return 1
        if wrong:
            print(json.dumps({"text": ascii(text), "number": number, "wrong": repr(wrong[0])}))
            return 1
        hits += len(found)
        fired += bool(found)
    seconds = round(time.perf_counter() - began, 1)
    print(
        json.dumps(
            {"texts": texts, "seed": seed, "fired": fired, "hits": hits, "exceptions": 0, "seconds": seconds}
        )
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*map(int, sys.argv[1:])))
