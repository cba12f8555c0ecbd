"""Whether a candidate begins and ends where a word does, by the rules of its script."""

from __future__ import annotations

import re

from icu4py.breakers import WordBreaker

from worker.rules.fold import TABLES, Fold, script
from worker.rules.model import Rule, Switch
from worker.rules.verify import spaceless

BREAK_CONTEXT = 24
"""Characters on either side that the word breaker sees: a dictionary word of Han or Thai is far shorter."""

JOSA = frozenset(
    [
        "은",
        "는",
        "이",
        "가",
        "을",
        "를",
        "의",
        "에",
        "도",
        "만",
        "로",
        "으로",
        "와",
        "과",
        "랑",
        "이랑",
        "야",
        "아",
        "여",
        "이여",
        "께",
        "께서",
        "에게",
        "에서",
        "한테",
        "부터",
        "까지",
        "처럼",
        "보다",
        "마다",
        "조차",
        "밖에",
        "나",
        "이나",
        "라도",
        "이라도",
        "들",
        "들이",
        "들은",
        "들을",
        "들의",
        "들아",
        "같은",
        "같이",
        "하고",
        "라고",
        "이라고",
        "이다",
        "다",
        "입니다",
        "이야",
        "이네",
        "네",
        "놈",
        "년",
    ]
)
"""Particles and endings that may follow a Korean noun inside the same written word."""

JOSA_SHORT = frozenset(["는", "가", "은", "를", "을", "의"])
"""The same after a noun of one syllable, where others form new words too often."""

_CONTRACTION = re.compile(r"['’]t\b", re.IGNORECASE)
_HANGUL = re.compile("[\u1100-\u11ff\uac00-\ud7ff\u3130-\u318f]*")
_BEYOND = re.compile("[\ud800-\udfff\U00010000-\U0010ffff]")
"""What the breaker cannot count in code points: it works in UTF-16 and refuses lone surrogates."""


def bounded(rule: Rule, fold: Fold, text: str, place: tuple[int, int]) -> bool:
    """Whether the edges of ``text[start:end]`` at that place are where the rule wants them."""
    start, end = place
    if rule.switches & {Switch.STARTS, Switch.ENDS, Switch.FULL, Switch.FULL_EXACT}:
        return _anchored(rule, text, start, end)
    if not _punctuation_stands(rule, text, start, end):
        return False
    if text[end - 1] in "nN" and not rule.open_end and _CONTRACTION.match(text, end):
        return False
    return _script_edges(rule, fold, text, start, end)


def _anchored(rule: Rule, text: str, start: int, end: int) -> bool:
    before, after = text[:start], text[end:]
    if Switch.FULL_EXACT in rule.switches:
        return not before and not after
    if Switch.FULL in rule.switches:
        return not any(map(str.isalnum, before)) and not any(map(str.isalnum, after))
    if Switch.STARTS in rule.switches:
        return not before.strip()
    return not after.strip()


def _punctuation_stands(rule: Rule, text: str, start: int, end: int) -> bool:
    return text[:start].endswith(rule.prefix) and text[end:].startswith(rule.suffix)


def _script_edges(rule: Rule, fold: Fold, text: str, start: int, end: int) -> bool:
    left = _neighbour(text, start - 1, -1, fold)
    right = _neighbour(text, end, 1, fold)
    check_left = not rule.open_start and left and spaceless(left) and spaceless(text[start])
    check_right = not rule.open_end and right and spaceless(right) and spaceless(text[end - 1])
    if not check_left and not check_right:
        return True
    if script(text[start]) == "Hang" or script(text[end - 1]) == "Hang":
        after_hangul = check_left and script(text[start - 1]) == "Hang"
        return not after_hangul and (not check_right or _particle_follows(rule, text, end))
    if check_left and _same_kana(left, text[start]):
        return False
    if check_right and _same_kana(right, text[end - 1]):
        return False
    breaks = _word_breaks(text, start, end, fold)
    return not ((check_left and "start" not in breaks) or (check_right and "end" not in breaks))


def _neighbour(text: str, at: int, step: int, fold: Fold) -> str:
    """The nearest visible character on that side, or an empty string at the end of the text."""
    while 0 <= at < len(text):
        if TABLES[fold][ord(text[at])]:
            return text[at]
        at += step
    return ""


def _same_kana(neighbour: str, edge: str) -> bool:
    return _is_katakana(neighbour) and _is_katakana(edge)


def _is_katakana(char: str) -> bool:
    return "\u30a1" <= char <= "\u30fe" or "\uff66" <= char <= "\uff9f"


def _particle_follows(rule: Rule, text: str, end: int) -> bool:
    tail = _HANGUL.match(text, end)
    rest = tail[0] if tail else ""
    return not rest or rest in (JOSA if len(rule.core) > 1 else JOSA_SHORT)


def _word_breaks(text: str, start: int, end: int, fold: Fold) -> set[str]:
    """Which edges (``start``, ``end``) ICU's word breaker parts when the gaps inside are taken out."""
    table = TABLES[fold]
    inside = "".join(char for char in text[start:end] if (table[ord(char)] or "").strip())
    before = text[max(0, start - BREAK_CONTEXT) : start]
    whole = _BEYOND.sub("\u4e00", before + inside + text[end : end + BREAK_CONTEXT])
    breaks = {edge for segment in WordBreaker(whole, "und").segments() for edge in segment}
    edges = {"start": len(before), "end": len(before) + len(inside)}
    return {name for name, at in edges.items() if at in breaks}
