"""Whether a candidate starts and ends at word edges, by the rules of its script."""

from __future__ import annotations

import re
import unicodedata

from worker.rules.folding.fold import LEET, TABLES, Fold, script_code
from worker.rules.folding.units import is_spaceless
from worker.rules.matching.word_breaks import has_word_breaks
from worker.rules.model import MatchMethod, Rule, Switch

LONG_HAN = 3
"""Han characters from which a rule needs no word edges: three characters rarely form a word across two words,
and the word breaker's dictionary lacks most banned phrases."""

JOSA = frozenset([
    "은", "는", "이", "가", "을", "를", "의", "에", "도", "만", "로", "으로", "와", "과", "랑",
    "이랑", "야", "아", "여", "이여", "께", "께서", "에게", "에서", "한테", "부터", "까지", "처럼",
    "보다", "마다", "조차", "밖에", "나", "이나", "라도", "이라도", "들", "들이", "들은", "들을", "들의",
    "들아", "같은", "같이", "하고", "라고", "이라고", "이다", "다", "입니다", "이야", "이네", "네", "놈",
    "년",
])  # fmt: skip
"""Particles and endings that may follow a Korean noun inside the same written word."""

JOSA_SHORT = frozenset("는가은를을의")
"""Particles after a noun of one syllable; the other particles form new words too often."""

LONG_PIECE = 12
"""Letters after a sign that are searched for a digit, which indicates that signs are letters there."""
_SIGN_RUN = re.compile(r"([$@+|])\1*")
_AFTER_WORD = re.compile(r"!+[!1?]*(?![\w@$])|\(\w{1,3}\)(?!\w)")
"""Exclamation marks (``loser!!1!``) and a bracketed ending (``loser(s)``) after a word are not part of it."""
SIGN_RUN = 3
"""Equal signs in a row that decorate a word (``viagra$$$``); two may be letters (``bra$$``)."""
LEET_EDGES = "@$+"
"""Signs that are letters of the word when they touch a match with leet (``@n41`` is not ``nal``)."""
SHORT_PIECE = 2
"""Most letters after a bar, plus or exclamation mark that are too few for a word."""
_CONTRACTION = re.compile(r"['’]t\b", re.IGNORECASE)
_HANGUL = re.compile("[\u1100-\u11ff\uac00-\ud7ff\u3130-\u318f]*")


def has_word_edges(rule: Rule, text: str, place: tuple[int, int], methods: frozenset[MatchMethod]) -> bool:
    """Whether the edges of ``text[start:end]`` are word edges, as far as the rule requires them."""
    start, end = place
    if rule.switches & {Switch.STARTS, Switch.ENDS, Switch.FULL, Switch.FULL_EXACT}:
        return _anchored(rule, text, start, end)
    if not (text.endswith(rule.prefix, 0, start) and text.startswith(rule.suffix, end)):
        return False
    if text[end - 1] in "nN" and not rule.open_end and _CONTRACTION.match(text, end):
        return False
    leet, looks = MatchMethod.LEET in methods, bool(methods & {MatchMethod.HOMOGLYPH, MatchMethod.WIDTH})
    if not _is_decorated(text, start, end):
        if not rule.open_start and _sign_continues_word(text, start - 1, -1, leet=leet, looks=looks):
            return False
        if (
            not rule.open_end
            and not _AFTER_WORD.match(text, end)
            and _sign_continues_word(text, end, 1, leet=leet, looks=looks)
        ):
            return False
    return _script_edges(rule, text, start, end)


def _is_decorated(text: str, start: int, end: int) -> bool:
    """Whether a match has the same signs on both sides (``$$cash$$``) and white space around them."""
    run = _SIGN_RUN.match(text, end)
    if run is None or not text.endswith(run[0], 0, start):
        return False
    before = start - len(run[0]) - 1
    return (before < 0 or text[before].isspace()) and (run.end() == len(text) or text[run.end()].isspace())


def _sign_continues_word(  # noqa: PLR0911  # a table of cases, one line each
    text: str, at: int, step: int, *, leet: bool, looks: bool
) -> bool:
    """Whether a sign next to a match is a letter of a longer word (``c|ass``, ``pe@cock``, ``$hell``)."""
    at = _skip_invisible(text, at, step)
    if not 0 <= at < len(text) or unicodedata.category(text[at])[0] not in "SP":
        return False
    sign, beyond = text[at], _skip_invisible(text, at + step, step)
    letters = (TABLES[Fold.SIGNS][ord(sign)] or "").strip()
    if not letters:
        return False
    if looks and len(letters) == 1 and sign not in LEET:
        return True
    if sign == "$" and step < 0:
        return text[max(0, at - SIGN_RUN + 1) : at + 1] != sign * SIGN_RUN
    if sign in LEET_EDGES and leet and not _is_run(text, at, step):
        return True
    if sign not in "@$" and sign.isascii():
        beyond = _skip_signs(text, beyond, step)
    elif sign in "@$" and text[at : at + SIGN_RUN] == sign * SIGN_RUN and step > 0:
        return False
    if not 0 <= beyond < len(text) or not (text[beyond].isalnum() or text[beyond] in "@$"):
        return False
    if sign in "@$" or not sign.isascii():
        return True
    piece = text[beyond : beyond + LONG_PIECE] if step > 0 else text[max(0, beyond - LONG_PIECE) : beyond + 1]
    letters = re.split(r"[^\w@$]", piece if step > 0 else piece[::-1])[0]
    return leet or len(letters) <= SHORT_PIECE or any(map(str.isdigit, letters))


def _is_run(text: str, at: int, step: int) -> bool:
    return text[at + step : at + step + 1] == text[at] if step > 0 else text[at - 1 : at] == text[at]


def _skip_signs(text: str, at: int, step: int) -> int:
    """The index past exclamation marks, bars, plus signs and brackets: ``shut up!!!`` ends at ``up``."""
    while 0 <= at < len(text) and text[at] in "!|+(":
        at = _skip_invisible(text, at + step, step)
    return at


def _skip_invisible(text: str, at: int, step: int) -> int:
    while 0 <= at < len(text) and TABLES[Fold.NATIVE][ord(text[at])] == "":
        at += step
    return at


def _anchored(rule: Rule, text: str, start: int, end: int) -> bool:
    if Switch.FULL_EXACT in rule.switches:
        return start == 0 and end == len(text)
    if Switch.FULL in rule.switches:
        return _first_letter(text, 0, 1) == start and _first_letter(text, len(text) - 1, -1) == end - 1
    if Switch.STARTS in rule.switches:
        return start <= len(text) - len(text.lstrip())
    return end >= len(text.rstrip())


def _first_letter(text: str, at: int, step: int) -> int:
    while 0 <= at < len(text) and not text[at].isalnum():
        at += step
    return at


def _script_edges(rule: Rule, text: str, start: int, end: int) -> bool:
    left = _neighbour(text, start - 1, -1)
    right = _neighbour(text, end, 1)
    check_left = not rule.open_start and left and is_spaceless(left) and is_spaceless(text[start])
    check_right = not rule.open_end and right and is_spaceless(right) and is_spaceless(text[end - 1])
    if not check_left and not check_right:
        return True
    if script_code(text[start]) == "Hang" or script_code(text[end - 1]) == "Hang":
        after_hangul = check_left and script_code(text[start - 1]) == "Hang"
        return not after_hangul and (not check_right or _particle_follows(rule, text, end))
    if check_left and _same_kana(left, text[start]):
        return False
    if check_right and _same_kana(right, text[end - 1]):
        return False
    if _long_han(rule.core):
        return True
    return has_word_breaks(text, start, end, left=bool(check_left), right=bool(check_right))


def _neighbour(text: str, at: int, step: int) -> str:
    """The nearest visible character on one side, or an empty string at the end of the text."""
    at = _skip_invisible(text, at, step)
    return text[at] if 0 <= at < len(text) else ""


def _same_kana(neighbour: str, edge: str) -> bool:
    return _is_katakana(neighbour) and _is_katakana(edge)


def _is_katakana(char: str) -> bool:
    return "\u30a1" <= char <= "\u30fe" or "\uff66" <= char <= "\uff9f" or char in "\u3099\u309a"


def _particle_follows(rule: Rule, text: str, end: int) -> bool:
    tail = _HANGUL.match(text, end)
    rest = tail[0] if tail else ""
    return not rest or rest in (JOSA if len(rule.core) > 1 else JOSA_SHORT)


def _long_han(core: str) -> bool:
    """Whether a rule is Han and long enough to need no word edges."""
    return len(core) >= LONG_HAN and all(script_code(char) == "Hani" for char in core)
