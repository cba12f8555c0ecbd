"""False alarms of fuzzy rules by length: ``python -m bench.rules_fuzzy TEXTS [COUNT]``.

Every rule is an everyday English word: rarer words have fewer neighbours. Prints for each number of letters
how many words of the texts are another word one edit away, per rule and 100,000 words.
"""

from __future__ import annotations

import json
import random
import re
import sys
from pathlib import Path

from worker.rules.folding.near_words import NearWords
from worker.rules.fuzzy_reach import everyday_words_by_language

LENGTHS = range(5, 11)


def main() -> None:
    """Prints one JSON object a length."""
    texts = Path(sys.argv[1]).read_text(encoding="utf-8").casefold()
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 500
    words = re.findall(r"[a-z]+", texts)
    english = [word for word in everyday_words_by_language()["en"] if word.isascii()]
    rng = random.Random(20261122)
    for length in LENGTHS:
        rules = [word for word in english if len(word) == length]
        rules = rng.sample(rules, min(count, len(rules)))
        if not rules:
            continue
        index = NearWords(rules)
        near = {word: len(index.near(word)) for word in set(words)}
        hits = sum(near[word] for word in words)
        per = 100_000 * hits / len(words) / len(rules)
        print(json.dumps({"letters": length, "rules": len(rules), "other words per rule": round(per, 2)}))


if __name__ == "__main__":
    main()
