"""Word edges in scripts without spaces: ICU's word breaker, and places where another reading is as likely."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from functools import cache, lru_cache

from icu4py.breakers import WordBreaker

from worker.rules.folding.fold import TABLES, Fold, data_lines, script_code
from worker.rules.folding.forms import folded_words

BREAK_CONTEXT = 24
"""Characters on either side that the word breaker reads: a dictionary word of Han or Thai is far shorter."""
LIKELY = 4.0
"""The keyword is read as a word if that reading is at most this many times rarer than the breaker's."""
RARE_COST = 140
"""Cost of a keyword that the table of words lacks: the cost of the rarest words of the table."""
MIN_KANA = 3
"""Fewest characters of a keyword without Han that may end inside a word of the breaker: two kana occur
everywhere (``しね`` in ``わたしねむい``)."""
JAPANESE_PARTICLES = frozenset([
    "ば", "よ", "や", "と", "って", "な", "なよ", "か", "かよ", "ぞ", "ぜ", "わ", "の", "ん",
    "んだ", "は", "が", "を", "に", "へ", "で", "も", "ね", "さ", "し", "だ", "だよ", "だろ",
    "です", "じゃ", "けど", "から", "まで", "なら", "とか",
])  # fmt: skip
"""Particles and copulas that may follow a Japanese word without a space."""
_KANA = re.compile("[\u3041-\u30ff\uff66-\uff9f]")
_HIRAGANA = re.compile("[\u3041-\u3096]")
_NON_BMP = re.compile("[\ud800-\udfff\U00010000-\U0010ffff]")
"""Characters that the breaker does not count as one: it uses UTF-16 and refuses lone surrogates."""


def has_word_breaks(text: str, start: int, end: int, *, left: bool, right: bool) -> bool:
    """Whether ``text[start:end]`` may be a word, judged at these sides; gaps inside it are ignored."""
    table = TABLES[Fold.NATIVE]
    inside = "".join(char for char in text[start:end] if (table[ord(char)] or "").strip())
    before, after = (
        "".join(char for char in part if table[ord(char)])
        for part in (text[max(0, start - BREAK_CONTEXT) : start], text[end : end + BREAK_CONTEXT])
    )
    whole = _NON_BMP.sub("\u4e00", before + inside + after)
    breaks = _word_edges(whole)
    first, last = len(before), len(before) + len(inside)
    at_start, at_end = not left or first in breaks, not right or last in breaks
    if at_start == at_end:
        return at_start
    divided = any(first < at < last for at in breaks)
    return divided and (
        _is_likely_han(whole, first, last, breaks) or (at_start and _particle_follows(whole, first, last))
    )


@lru_cache(maxsize=1024)
def _word_edges(text: str) -> tuple[int, ...]:
    """ICU's word breaks of a short text, in order; cached because spam repeats itself."""
    return tuple(sorted({edge for segment in WordBreaker(text, "und").segments() for edge in segment}))


def _is_likely_han(text: str, start: int, end: int, breaks: tuple[int, ...]) -> bool:
    """Whether a reading of Chinese with ``text[start:end]`` as a word is nearly as likely as the breaker's.

    Only the words of the breaker that overlap it are compared: ``开发|票`` with ``开|发票``. They must not be
    one word together.
    """
    first, stop = bisect_right(breaks, start) - 1, bisect_left(breaks, end)
    words = [text[at:to] for at, to in zip(breaks[first:stop], breaks[first + 1 : stop + 1], strict=True)]
    region = "".join(words)
    if _KANA.search(text) or any(script_code(char) != "Hani" for char in region):
        return False
    costs = _han_costs()
    others = [part for part in (text[breaks[first] : start], text[end : breaks[stop]]) if part]
    if _folded(region) in costs or any(_folded(part) not in costs for part in others):
        return False
    expected = costs.get(_folded(text[start:end]), RARE_COST) + sum(costs[_folded(part)] for part in others)
    return expected <= sum(costs.get(_folded(word), RARE_COST) for word in words) + 10 * math.log(LIKELY)


def _folded(word: str) -> str:
    return folded_words(word, Fold.NATIVE).replace(" ", "")


@cache
def _han_costs() -> dict[str, int]:
    """Chinese words of up to three characters -> ten times the negative logarithm of their share."""
    lines = map(str.split, data_lines("han_words.txt"))
    return {word: int(cost) for cost, *words in lines for word in words}


def _particle_follows(text: str, start: int, end: int) -> bool:
    """Whether a Japanese word is followed by a particle that the breaker read as part of another word."""
    if not _HIRAGANA.match(text, end) or not _HIRAGANA.match(text, end - 1):
        return False
    if end - start < MIN_KANA and not any(script_code(char) == "Hani" for char in text[start:end]):
        return False
    rest = text[end:]
    return rest[: _word_edges(rest)[1]] in JAPANESE_PARTICLES
