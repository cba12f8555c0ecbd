"""Whether a plain reply drops a condition of its quotes: "free", where they say "free for guests only"."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import Final

from worker.assessment.reading.languages import (
    content_of,
    has_words,
    language_of,
    restricts,
    same_language,
    says,
)
from worker.assessment.reading.limits import AGES, CLAUSE
from worker.assessment.reading.numbers import figures
from worker.assessment.reading.polarity import headed
from worker.assessment.reading.predicates import stem_of, stems
from worker.assessment.reading.units import MONEY, THING
from worker.assessment.text.wordlists import folded_text, language_pattern, list_pattern
from worker.assessment.text.words import FUNCTION, STOP, is_unspaced, split_sentences, word_tokens

_PART: Final = re.compile(r"[^,.;:!?()\n，。；：！？،؛؟]+")
"""A clause with all items of a list in Chinese."""
VERB_LAST: Final = frozenset({"de", "nl"})
"""Languages whose clauses may end with what is granted: "nur an der Leine erlaubt"."""


def drops_limit(sentence: str, draft: str, quoted: str, beside: str, asked: str) -> str | None:
    """A word such as "free" that the quotes say within a limit only, while the draft names none, or None.

    A question with an amount of the same unit asks about its side of the limit, which is left to the judge.
    Beside a price of what the draft speaks of, free is only what draft or question name; beside a price for
    the rest, a question that adds nothing is answered with both.
    """
    if figures(draft).numbers:
        return None
    free, spoken = list_pattern("lacking"), folded_text(draft)
    found = free.search(folded_text(sentence))
    if found is None or restricts(spoken, language_of(draft)):
        return None
    language, question = language_of(quoted), figures(asked)
    units = {THING if unit in AGES else unit for unit in question.units}
    named = stems(free.sub(" ", f"{spoken}\n{folded_text(asked)}"))
    clauses = CLAUSE.findall(folded_text(quoted))
    priced = any(MONEY & {*figures(each).units} and named & stems(each) for each in clauses)

    def is_limited(clause: str) -> bool:
        limit = figures(clause)
        of_others = units.isdisjoint(THING if unit in AGES else unit for unit in limit.units)
        leaves_out = limit.readings.isdisjoint(question.readings) and of_others
        limited = says("limiting", clause, language) or restricts(clause, language)
        of_another = priced and named.isdisjoint(stems(free.sub(" ", clause)))
        return (limited and bool(limit.numbers) and leaves_out) or of_another

    joining = language_pattern("joining", language)
    grants = [
        each[: also.start() if (also := joining.search(each, granted.end())) else len(each)]
        for each in clauses
        if (granted := free.search(each)) is not None
    ]
    if not grants:
        return None
    words = stems(free.sub(" ", spoken)), stems(free.sub(" ", folded_text(asked)))
    is_part = all(map(is_limited, grants)) or (
        _adds_nothing(asked, quoted)
        and all(_is_priced_otherwise(each, beside) and _leaves_out(each, *words) for each in grants)
    )
    return found[0] if is_part else None


def _leaves_out(clause: str, said: frozenset[str], asked: frozenset[str]) -> bool:
    """Whether a folded clause has words that neither draft nor question has, beside those of both."""
    limit = frozenset(_content(list_pattern("lacking").sub(" ", clause))) - (said & asked)
    return bool(limit) and limit.isdisjoint(said | asked)


def _is_priced_otherwise(grant: str, beside: str) -> bool:
    """Whether the sentence of a folded clause prices the rest ("free for guests, others pay €15")."""
    sentences = [each for each in map(folded_text, split_sentences(beside)) if grant.strip() in each]
    return any(
        list_pattern("remaining").search(clause) and not MONEY.isdisjoint(figures(clause).units)
        for sentence in sentences
        for clause in CLAUSE.findall(sentence)
    )


def price_of_group(sentence: str, draft: str, quoted: str, beside: str, asked: str) -> str | None:
    """A group ("students") whose price a sentence gives to all, while the paragraph has another price.

    Where draft or question name a group, a number or words of that price alone, the judge reads it.
    """
    prices = {each for each in figures(sentence).units_of() if each[1] in MONEY}
    if not prices or figures(asked).numbers:
        return None
    groups, spoken = list_pattern("groups"), folded_text(draft)
    found = groups.search(folded_text(quoted))
    if found is None or groups.search(f"{spoken}\n{folded_text(asked)}"):
        return None
    if restricts(spoken, language_of(draft)):
        return None
    clauses = CLAUSE.findall(folded_text(beside))
    rest = "\n".join(each for each in clauses if groups.search(each) is None)
    granted = [each for each in clauses if prices & {*figures(each).units_of()}]
    has_others = not {unit for _, unit in prices}.isdisjoint(figures(rest).units)
    own = stems("\n".join(granted)) - stems(rest)
    is_common = any(map(str.isalpha, own & stems(spoken))) or not has_words(asked, f"{rest}\n{spoken}")
    of_group = bool(granted) and all(map(groups.search, granted))
    return found[0] if of_group and has_others and not is_common else None


def plain_yes(sentence: str, draft: str, quoted: str, asked: str) -> str | None:
    """A word such as "only" in what the quotes grant, or None; a yes must name the condition beside it.

    A question with words or numbers of its own may meet the condition in other words: the judge reads it.
    """
    if headed(sentence)[0] != "yes":
        return None
    language, spoken = language_of(quoted), folded_text(draft)
    if not same_language(headed(sentence)[1], quoted) or restricts(spoken, language):
        return None
    named = stems(f"{spoken}\n{folded_text(asked)}")
    for clause in CLAUSE.findall(folded_text(quoted)):
        if (found := language_pattern("conditional", language).search(clause)) is not None:
            granted, condition = stems(clause[: found.start()]), _condition(clause, found, named, language)
            if granted & named and condition and named.isdisjoint(condition) and _adds_nothing(asked, quoted):
                return found[0]
    return None


def _condition(
    clause: str, found: re.Match[str], named: frozenset[str], language: str | None
) -> frozenset[str]:
    """The words of a condition: those after its word, or directly before one that ends its clause."""
    after = _content(clause[found.end() :])
    if not after:
        return frozenset(takewhile(lambda stem: stem not in named, _content(clause[: found.start()])[::-1]))
    if language in VERB_LAST and after[1:] and after[-1] in named:
        after.pop()
    return frozenset(() if all(map(str.isdigit, after)) else after)


def _content(folded: str) -> list[str]:
    """The words of folded text with a meaning of their own, in order."""
    words = (word for word in word_tokens(folded) if word not in STOP and word not in FUNCTION)
    return [stem_of(word) for word in words if len(word) > 1 or is_unspaced(word)]


def _adds_nothing(asked: str, quoted: str) -> bool:
    """Whether a question has no number, and no word that the quotes lack: nothing that meets a condition."""
    said = figures(asked)
    return not (said.numbers or said.times) and has_words(asked, folded_text(quoted))


def named_exception(sentence: str, quoted: str, question: str) -> str | None:
    """A word of a question that quotes except from a rule, which a sentence only repeats, or None."""
    other, language = folded_text(quoted), language_of(quoted)
    found = language_pattern("exceptions", language).search(other)
    if found is None or _is_turned(folded_text(sentence), language_of(sentence)):
        return None
    clause = next(each for each in _PART.finditer(other) if each.start() <= found.start() < each.end())
    before, after = other[clause.start() : found.start()], other[found.end() : clause.end()]
    excepted = after if content_of(after) else before
    rule = found.re.sub(" ", other.replace(excepted, " "))
    named = (each for each in content_of(excepted) if has_words(each, folded_text(question)))
    own = [each for each in named if not has_words(each, rule)]
    repeats = has_words(headed(sentence)[1], rule) and not _is_turned(rule, language)
    return min(own) if own and repeats else None


def _is_turned(folded: str, language: str | None) -> bool:
    """Whether folded text denies or excepts something."""
    return any(says(name, folded, language) for name in ("negating", "closed", "exceptions", "privative"))
