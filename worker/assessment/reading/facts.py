"""What code can see of a judge's verdict: facts of a sentence that its quotes do not bear out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from worker.assessment.reading.amounts import missing_figures
from worker.assessment.reading.conditions import drops_limit, named_exception, plain_yes, price_of_group
from worker.assessment.reading.dates import missing_dates
from worker.assessment.reading.languages import language_of, says
from worker.assessment.reading.limits import goes_beyond
from worker.assessment.reading.names import missing_names
from worker.assessment.reading.polarity import dropped_condition, flipped
from worker.assessment.reading.predicates import denied, nearest
from worker.assessment.reading.rates import other_period
from worker.assessment.text.wordlists import folded_text
from worker.assessment.text.words import encodable_text, split_sentences


class Fact(StrEnum):
    """A kind of fact that code compares; stored."""

    NUMBER = "number"
    DATE = "date"
    NAME = "name"
    NEGATION = "negation"
    CONDITION = "condition"
    ADDRESS = "address"


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """A fact of a sentence that its quotes do not bear out.

    Attributes:
        detail: the fact, as the sentence states it.
    """

    kind: Fact
    detail: str


def disagreements(
    sentence: str,
    *,
    draft: str,
    quoted: str,
    beside: str,
    passages: str,
    question: str,
    asked: str,
    written: str = "",
) -> tuple[Disagreement, ...]:
    """The facts of a sentence that its evidence does not state; silent where code cannot be sure.

    Args:
        sentence: of the draft, without citation marks.
        draft: all sentences of the draft.
        quoted: the quotes, one a line.
        beside: the paragraphs that the quotes stand in.
        passages: all passages with their titles.
        question: as the customer put it; its numbers may be repeated.
        asked: the question, with the conversation before it.
        written: day and time of the question.
    """
    texts = (sentence, draft, quoted, beside, passages, question, asked)
    sentence, draft, quoted, beside, passages, question, asked = map(encodable_text, texts)
    dropped = dropped_condition(sentence, quoted) or drops_limit(sentence, draft, quoted, beside, asked)
    dropped = dropped or plain_yes(sentence, draft, quoted, asked)
    dropped = dropped or price_of_group(sentence, draft, quoted, beside, asked)
    dropped = dropped or named_exception(sentence, quoted, question)
    is_negated = says("negating", folded_text(sentence), language_of(sentence))
    beyond = is_negated and goes_beyond(f"{sentence}\n{question}", quoted)
    period = other_period(sentence, quoted)
    near = nearest(sentence, quoted)
    flip = flipped(sentence, draft=draft, quoted=near, beyond=beyond)
    predicate = denied(sentence, draft=draft, quoted=near, near=split_sentences(beside), beyond=beyond)
    grounds = {"draft": draft, "quoted": quoted, "beside": beside, "asked": asked, "written": written}
    found = {
        Fact.NUMBER: missing_figures(sentence, **grounds, question=question) + ([period] if period else []),
        Fact.DATE: missing_dates(sentence, **grounds, passages=passages),
        Fact.NAME: missing_names(
            sentence, draft=draft, quoted=quoted, ground=f"{quoted}\n{passages}\n{asked}"
        ),
        Fact.NEGATION: [each for each in (flip, predicate) if each],
        Fact.CONDITION: [dropped] if dropped else [],
        Fact.ADDRESS: missing_addresses(sentence, f"{quoted}\n{passages}"),
    }
    return tuple(
        Disagreement(kind=kind, detail=detail) for kind, details in found.items() for detail in details
    )


def prepare() -> None:
    """Load the word lists, CLDR names and patterns that the first call needs, but no language detector."""
    texts = {"quoted": "No, 9 pm.", "beside": "No, 9 pm.", "passages": "All 3.", "question": "When?"}
    disagreements("Yes, 2, Monday 9 pm, $5.", draft="Yes.", **texts, asked="When?")


_LETTER: Final = r"a-z0-9\u00df-\u00ff"
"""Letters of host names; letters of a script without spaces may stand directly beside an address."""
_END: Final = r"\s<>()\[\]{}\"'`*“”„«»\u3000-\u9fff\uac00-\ud7af\uff00-\uffef"
"""Characters that no address has: spaces, brackets, quotation marks, Markdown, Chinese, Japanese, Korean."""
_ADDRESS: Final = re.compile(
    rf"(?:https?://|www\.)[^{_END}]{{1,200}}"
    rf"|(?<![{_LETTER}_.+-])[{_LETTER}_.+-]{{1,64}}@[{_LETTER}-]{{1,63}}(?:\.[{_LETTER}-]{{1,63}}){{1,5}}"
    rf"|(?<![{_LETTER}_.@/-])(?:[{_LETTER}][{_LETTER}-]{{1,62}}\.){{1,5}}"
    r"(?:com|net|org|info|biz|app|dev|shop|store|(?-i:[a-z]{2}))"
    rf"(?![{_LETTER}_@-])(?:/[^{_END}]{{0,200}})?",
    re.IGNORECASE,
)
"""A bare name of a host ends with a common ending or two small letters: a country, not "The end.So"."""
_PREFIX: Final = re.compile(r"^(?:https?://)?(?:www\.)?")


def missing_addresses(sentence: str, passages: str) -> list[str]:
    """The addresses of a sentence that no passage has; a customer's own is no evidence."""
    known = passages.casefold()
    said = {_PREFIX.sub("", each.casefold()).rstrip("/.,;:!?…") for each in _ADDRESS.findall(sentence)}
    return sorted(each for each in said if not _stands_in(known, each))


def _stands_in(known: str, address: str) -> bool:
    """Whether a text has the whole address: "shop.com" is neither "myshop.com" nor "shop.com.vn"."""
    before = rf"(?<![{_LETTER}_.+-])" if "@" in address else rf"(?<![{_LETTER}_-])"
    return re.search(rf"{before}{re.escape(address)}(?![{_LETTER}_-]|\.[{_LETTER}])", known) is not None
