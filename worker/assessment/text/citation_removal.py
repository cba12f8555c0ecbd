"""A draft as delivered: without its citations, and the list of the passages that they cite."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from itertools import chain
from typing import Final

from worker.assessment.text.citations import cited_numbers
from worker.assessment.text.once import once
from worker.model import Passage, Source

_ITEM: Final = r"\^?\d{1,4}(?:\s*[-\u2013\u2014]\s*\d{1,4})?"
_LINK: Final = r"(?:\(https?://[^\s()]*\))?"
_CITATION: Final = re.compile(
    rf"[\[【［]\s*({_ITEM}(?:\s*[,，、;；]\s*{_ITEM})*)\s*(?:†[^\]】］\n]*)?[\]】］]{_LINK}"
)
_RANGE: Final = re.compile(r"(\d+)(?:\s*[-\u2013\u2014]\s*(\d+))?")
_CODE: Final = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_BETWEEN: Final = re.compile(r"[^\S\n]*[,，、;；]?[^\S\n]*")
_LABEL: Final = re.compile(r"(?:\A|\n+)[^\n.!?。！？:：]{1,30}[:：][*_]{0,2}\s*\Z")
_HIGHEST: Final = 99
"""A bracketed number above this that is no passage's number, such as a year, is not a citation."""

_CLOSING: Final = frozenset(".,;:!?…)]}»”’%。，、；：！？）」』】》،؛؟।॥")
_SPACED_CLOSING: Final = frozenset("!?:;»")
"""French writes a space before these; the space is kept."""
_OPENING: Final = frozenset("([{«“‘（「『【《¿¡")
_STOPS: Final = frozenset(".!?…。！？")
_FIRST_UNSPACED: Final = "\u0e00"  # scripts from Thai on write no space between words, except Hangul
_HANGUL: Final = range(0xAC00, 0xD7A4)


def delivered_text(draft: str, passages: Sequence[Passage]) -> str:
    """The draft without its citations and without the spaces that belonged to them.

    Code, where a bracketed number is an index, is unchanged.
    """
    text, at = _unmarked(draft, passages)
    if at == 0:
        return draft
    return (_LABEL.sub("", text) if at >= len(draft.rstrip()) else text).strip()


def read_text(sentence: str, passages: Sequence[Passage]) -> str:
    """A sentence of a draft as a judge reads it: as delivered, with the label of its citation."""
    return _unmarked(sentence, passages)[0].strip()


def _unmarked(draft: str, passages: Sequence[Passage]) -> tuple[str, int]:
    """The draft without its citations, and where the last of them ended; 0 without any."""
    return _without(draft, tuple(span for span, _ in _citations(draft, passages)))


@once
def _without(draft: str, spans: tuple[tuple[int, int], ...]) -> tuple[str, int]:
    """The draft without these spans and the spaces that belong to them, and where the last of them ended."""
    pieces, at = [], 0
    for start, end in _runs(draft, spans):
        left, right, between = _gap(draft, start, end)
        pieces += [draft[at : max(at, left)], between]
        at = max(at, right)
    return "".join((*pieces, draft[at:])), at


def cited_sources(draft: str, passages: Sequence[Passage]) -> tuple[Source, ...]:
    """The passages that the draft cites, each once, by number."""
    cited = set(chain.from_iterable(numbers for _, numbers in _citations(draft, passages)))
    return tuple(
        Source(number=number, passage_id=passage.passage_id, title=passage.title)
        for number, passage in enumerate(passages, 1)
        if number in cited
    )


def renumbered(draft: str, passages: Sequence[Passage]) -> str:
    """The draft whose citations count the places of the passages instead of their numbers.

    A number that no passage has names none afterwards either.
    """
    places = {passage.number or place: place for place, passage in enumerate(passages, 1)}
    if all(number == place for number, place in places.items()):
        return draft
    pieces, at = [], 0
    for (start, end), numbers in _citations(draft, passages, places):
        now = (places.get(number, number + len(passages)) for number in numbers)
        pieces += [draft[at:start], f"[{', '.join(map(str, now))}]"]
        at = end
    return "".join((*pieces, draft[at:]))


def _citations(
    draft: str, passages: Sequence[Passage], known: Container[int] = ()
) -> Iterator[tuple[tuple[int, int], tuple[int, ...]]]:
    """The span of each citation in a draft, with its passage numbers; ``known``: if not the places."""
    known = known or range(1, len(passages) + 1)
    for span, numbers in _marks(draft):
        if any(number in known for number in numbers) or (
            max(numbers) <= _HIGHEST and not _quoted(passages).intersection(numbers)
        ):
            yield span, numbers


@once
def _marks(draft: str) -> tuple[tuple[tuple[int, int], tuple[int, ...]], ...]:
    """The span of each bracketed number or list of numbers outside of code, with its numbers."""
    if not ("[" in draft or "【" in draft or "［" in draft):
        return ()
    code = [match.span() for match in _CODE.finditer(draft)] if "`" in draft else []
    return tuple(
        (match.span(), tuple(chain.from_iterable(map(_numbers, _RANGE.finditer(match.group(1))))))
        for match in _CITATION.finditer(draft)
        if not any(start <= match.start() < end for start, end in code)
    )


def _quoted(passages: Sequence[Passage]) -> set[int]:
    return {number for passage in passages for number in cited_numbers(passage.text)}


def _numbers(part: re.Match[str]) -> range:
    first, last = int(part[1]), int(part[2] or part[1])
    return range(first, last + 1) if first <= last <= _HIGHEST else range(first, first + 1)


def _runs(draft: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Citations in a row, such as ``[1][2]`` and ``[1], [2]``, as one span, with round brackets around it."""
    runs: list[tuple[int, int]] = []
    for start, end in spans:
        joined = runs and _BETWEEN.fullmatch(draft, runs[-1][1], start)
        runs.append((runs.pop()[0] if joined else start, end))
    return [_with_brackets(draft, start, end) for start, end in runs]


def _with_brackets(draft: str, start: int, end: int) -> tuple[int, int]:
    left, right = _trimmed(draft, start, end)
    if draft[left - 1 : left] in {"(", "（"} and draft[right : right + 1] in {")", "）"}:
        return left - 1, right + 1
    return start, end


def _trimmed(draft: str, start: int, end: int) -> tuple[int, int]:
    """The span extended over the spaces around it, within its line."""
    while start and draft[start - 1].isspace() and draft[start - 1] != "\n":
        start -= 1
    while end < len(draft) and draft[end].isspace() and draft[end] != "\n":
        end += 1
    return start, end


def _gap(draft: str, start: int, end: int) -> tuple[int, int, str]:
    """The span to remove with a run of citations, and the text that replaces it."""
    left, right = _trimmed(draft, start, end)
    before, after = draft[left - 1 : left], draft[right : right + 1]
    if before in {"", "\n"}:
        if after in {"", "\n"}:  # a line of its own
            return max(left - 1, 0), right + (after != "" and draft[left - 2 : left] == "\n\n"), ""
        return start, right + (after == ":"), ""
    if after in {"", "\n"} or before in _OPENING:
        return left, right, ""
    if after in _CLOSING:
        if before in _STOPS and after in {".", "。"}:
            return left, right + 1, ""
        return left, right, draft[end:right] if after in _SPACED_CLOSING else ""
    return left, right, _between(before, after, draft[left:start] or draft[end:right])


def _between(before: str, after: str, space: str) -> str:
    """The separator of two words that had a citation between them."""
    if not (_is_spaced(before) or _is_spaced(after)):
        return ""
    if space:
        return space
    return " " if _is_spaced(after) and after.isalnum() and _is_spaced(before) else ""


def _is_spaced(char: str) -> bool:
    """Whether a character belongs to a script that writes spaces between words."""
    return char < _FIRST_UNSPACED or ord(char) in _HANGUL or "\u1e00" <= char < "\u2010"
