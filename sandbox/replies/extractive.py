"""Answers extracted from passages by word overlap: no model, and deterministic."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from sandbox.replies.statements import Statement, statements

PASSAGE = re.compile(
    r"^\[(\d{1,4})\][ \t]+(.*?)(?=\n[ \t]*\n|\n\[\d{1,4}\][ \t]|\Z)", re.MULTILINE | re.DOTALL
)
FENCED = re.compile(
    r"(?P<before>.*?)<passages (?P<word>\w+)>\n(?P<inside>.*)\n</passages (?P=word)>\s*(?P<after>.*)",
    re.DOTALL,
)
TOKEN = re.compile(r"[^\W_]+")
ENOUGH_WORDS = 2
ENOUGH_SHARE = 0.2
"""A passage answers if it contains two words of the question, or a fifth of them: less may be chance."""

STOPWORD_LIST = """
a about am an and any are as at be been but by can could did do does for from get give had has have he hello
her hey hi his how i if in into is it its just know like me my need no not of on or our please she should so
some tell that the their them there they this to up us was we were what when where which who why will with
would you your de la le les un une des et est que el los las en por para der die das und ist wie
"""
STOPWORDS = frozenset(STOPWORD_LIST.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedPassage:
    """A passage of a prompt, written as ``[number] title: text``."""

    number: int
    title: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FencedText:
    """A message with passages between ``<passages WORD>`` and ``</passages WORD>``, in three parts."""

    before: str
    inside: str
    after: str


def fenced_text(text: str) -> FencedText | None:
    """The parts of a message with passages; None for any other."""
    found = FENCED.fullmatch(text)
    return (
        FencedText(before=found["before"].strip(), inside=found["inside"], after=found["after"])
        if found
        else None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Extract:
    """Sentences of one passage that answer a question, with the number to cite."""

    text: str
    number: int


@lru_cache(maxsize=8192)
def content_words(text: str) -> frozenset[str]:
    """The words with meaning, folded and stemmed; character pairs in scripts without spaces."""
    found: set[str] = set()
    for token in TOKEN.findall(text.casefold()):
        if token[0] >= "⺀":
            found.update(token[at : at + 2] for at in range(max(len(token) - 1, 1)))
        elif token not in STOPWORDS:
            found.add(word_stem(token))
    return frozenset(found)


@lru_cache(maxsize=1024)
def numbered_passages(text: str) -> tuple[NumberedPassage, ...]:
    """The passages in a prompt, in order: each from a line ``[n] title: text`` to a blank line."""
    passages = []
    for number, body in PASSAGE.findall(text):
        title, colon, rest = body.partition(": ")
        passages.append(
            NumberedPassage(number=int(number), title=title if colon else "", text=rest if colon else body)
        )
    return tuple(passages)


def best_extract(question: str, passages: Iterable[NumberedPassage]) -> Extract | None:
    """The best sentences, at most two of one passage, or None when no passage overlaps enough.

    A word weighs less the more passages contain it; on a tie the earlier passage wins.
    """
    question_words = content_words(question)
    candidates = [(passage, question_words & _passage_words(passage)) for passage in passages]
    holders = [hits for _, hits in candidates]
    best: tuple[float, NumberedPassage, frozenset[str]] | None = None
    for passage, hits in candidates:
        score = sum(1 / sum(word in other for other in holders) for word in hits)
        if _enough(hits, question_words) and (best is None or score > best[0]):
            best = (score, passage, hits)
    if best is None:
        return None
    return Extract(text=_answering_sentences(best[1], best[2]), number=best[1].number)


def furthest_extract(question: str, passages: Iterable[NumberedPassage]) -> Extract | None:
    """The sentence that shares the fewest words with the question, the first of equals; None without any."""
    asked = content_words(question)
    sentences = [
        (len(content_words(each.text) & asked), each.text, passage.number)
        for passage in passages
        for each in statements(passage.text)
        if len(content_words(each.text)) > ENOUGH_WORDS
    ]
    if not sentences:
        return None
    _, text, number = min(sentences, key=lambda each: each[0])
    return Extract(text=text, number=number)


def overlap_share(words: frozenset[str], other: frozenset[str]) -> float:
    """Share of ``words`` that are in ``other``, 0..1; 0 when there are none."""
    return len(words & other) / len(words) if words else 0.0


def _enough(hits: frozenset[str], question_words: frozenset[str]) -> bool:
    return len(hits) >= ENOUGH_WORDS or (bool(hits) and overlap_share(question_words, hits) >= ENOUGH_SHARE)


def _answering_sentences(passage: NumberedPassage, hits: frozenset[str]) -> str:
    """The best sentence and perhaps another one; a heading's words count for the sentences below it."""
    found = statements(passage.text)
    if not found:
        return passage.title
    ranked = sorted(range(len(found)), key=lambda at: _rank(found[at], hits))
    chosen = [
        at for rank, at in enumerate(ranked[:2]) if rank == 0 or _adds(found[at], found[ranked[0]], hits)
    ]
    return " ".join(found[at].text for at in sorted(chosen))


def _rank(found: Statement, hits: frozenset[str]) -> tuple[int, bool, int]:
    """Smaller is better: words with the heading's, then sentences before headings, then words alone."""
    own = content_words(found.text) & hits
    return -len(own | (content_words(found.heading) & hits)), found.is_heading, -len(own)


def _adds(found: Statement, best: Statement, hits: frozenset[str]) -> bool:
    is_text = not (found.is_heading or found.is_row or best.is_row)
    return is_text and len(content_words(found.text) & hits) > 1


@lru_cache(maxsize=8192)
def _passage_words(passage: NumberedPassage) -> frozenset[str]:
    return content_words(passage.title) | content_words(passage.text)


def word_stem(word: str) -> str:
    """A word without its most frequent English endings, so that *refunds* equals *refund*."""
    for ending, replacement in (("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""), ("e", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)] + replacement
    return word
