"""Han folding and word edges: ``python -m bench.rules_han Unihan_Variants.txt.bz2 TEXTS``.

Prints how many pairs of Unihan's traditional and simplified characters fold to one, and for every word of two
Han characters in the texts (one a line) how often it counts as a word: ``breaker`` by ICU alone, ``either``
also where another reading is about as likely.
"""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from pathlib import Path

from tools.han_variants import read_variants
from worker.rules.folding.fold import Fold, script_code
from worker.rules.folding.forms import folded_words
from worker.rules.matching.word_breaks import _han_costs, _word_edges, has_word_breaks


def pairs_folded(path: Path) -> dict[str, int]:
    """Pairs of a character and its variant, and those with the same fold."""
    _, variants = read_variants(path)
    pairs = {
        tuple(sorted((char, other)))
        for listed in variants.values()
        for char, others in listed.items()
        for other in others
        if other != char
    }
    same = sum(folded_words(left, Fold.NATIVE) == folded_words(right, Fold.NATIVE) for left, right in pairs)
    return {"pairs": len(pairs), "folded to one": same}


def edges_judged(texts: list[str]) -> dict[str, int]:
    """Occurrences of listed words of two characters that count as words."""
    found = {"occurrences": 0, "breaker": 0, "either": 0}
    for text in texts:
        edges = set(_word_edges(text)) if text else set()
        for at, (first, second) in enumerate(pairwise(text)):
            word = folded_words(first + second, Fold.NATIVE).replace(" ", "")
            if script_code(first) != "Hani" or word not in _han_costs():
                continue
            found["occurrences"] += 1
            found["breaker"] += at in edges and at + 2 in edges
            found["either"] += has_word_breaks(text, at, at + 2, left=at > 0, right=at + 2 < len(text))
    return found


def main() -> None:
    """Prints one JSON object."""
    texts = Path(sys.argv[2]).read_text(encoding="utf-8").splitlines()
    print(json.dumps(pairs_folded(Path(sys.argv[1])) | edges_judged(texts)))


if __name__ == "__main__":
    main()
