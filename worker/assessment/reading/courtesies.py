"""Sentences that state no fact: questions, headings, small talk, wishes, regret, referrals to a person."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from worker.assessment.non_answers import only_refers
from worker.assessment.reading.amounts import missing_figures
from worker.assessment.reading.dates import missing_dates, without_date_names
from worker.assessment.reading.facts import Fact, disagreements
from worker.assessment.reading.languages import content_of, denies, language_of, main_clauses, restricts
from worker.assessment.reading.model import ReadingRequest
from worker.assessment.reading.polarity import headed
from worker.assessment.text.acknowledgements import has_content_signs, only_thanks
from worker.assessment.text.small_talk import is_small_talk
from worker.assessment.text.wordlists import folded_text, list_pattern
from worker.assessment.text.words import is_unspaced, text_units
from worker.model import MessageRole

MOST_WORDS: Final = 2
"""Content words of a sentence too short to state much ("These things happen!")."""
MOST_COURTESY_WORDS: Final = 4
"""Most words beside a word of regret or thanks ("I am sorry, get well soon!")."""
PAIRS_A_WORD: Final = 3
_ABOUT: Final = re.compile(
    r"(?: you| ihnen| dir| euch)?[\s,]*"
    r"(?:about|for|to (?:hear|read|see|learn)|that you|über|für|wegen|pour|de|du|des|por|per|om|voor|za)"
    r"\b[^,.;:!?]*[.!]*"
)
"""What is regretted or thanked for: a courtesy, whatever it names."""
_MISHAP: Final = re.compile(r" (?:that )?(?:it|this|things) [^,.;:!?\d]*[.!]*")
"""What went wrong, after regret ("it still is not right"); it states nothing where it has hardly a word."""
_WISH: Final = re.compile(r"[^.,;:!?\d。，！？]{1,80}[.!。！ ]*")
"""One clause, such as a wish ("Enjoy your visit!")."""
_OWN: Final = re.compile(
    r"[\s,]+(?:to (?:hear|read|see|learn) )?(?:that |dass |que |de que |che |dat |że )?"
    r"(?:your|ihre?[nmrs]?|deine?[nmrs]?|votre|vos|tus?|sus?|il [ts]uo|la [ts]ua|o seu|a sua|uw|je)"
    r" [^,.;:!?\d]*[.!]*"
)
"""What happened to something of the author, after regret ("your parcel arrived damaged")."""

LINK: Final = re.compile(
    r"[\s\W]*(?:"
    r"(?:it|its|it's|this|that|that's|these|those|they|they're|them|their|he|she|there|then|however|but|also|and|or|"
    r"otherwise|unless|except|only|in (?:that|this|these|such) cases?|for this|such|both|if so|if not|after|"
    r"before|instead|additionally|moreover|furthermore|therefore|so|because|which|the same|though|although|"
    r"yet|not|never|even|note|nó|điều|việc này|họ|tuy nhiên|nhưng|ngoài ra|và|hoặc|nếu không|trừ|khi đó|"
    r"sau đó|vì vậy|do đó|đây|đó|cũng|bên cạnh|chỉ|lưu ý|es|das|dies\w*|er|jedoch|aber|außerdem|und|oder|"
    r"sonst|ansonsten|außer|nur|dann|danach|dabei|dafür|deshalb|dort|auch|allerdings|esto|eso|este|esta|"
    r"estos|ello|él|ella|pero|sin embargo|además|o|de lo contrario|excepto|salvo|solo|entonces|después|"
    r"por eso|también|así|il|elle|ils|elles|ce|cela|ça|cette|ces|mais|cependant|toutefois|de plus|et|ou|"
    r"sinon|sauf|seulement|alors|ensuite|donc|aussi|en outre)(?!\w)"
    r"|[它这那此其他她但不而并另否除因所然之同只也还則则]|如果不|此外)"
)
"""Beginning of a sentence that refers to or restricts the sentence before: both are kept, or neither."""


def states_nothing(sentence: str, *, draft: str, asked: str, passages: str) -> bool:
    """Whether a sentence states no fact: a question, a heading, small talk, a wish, regret, a referral.

    So too with hardly a word, but a word of the passages speaks of what the account offers: "Insurance
    included!" states something.
    """
    head, body = headed(sentence)
    if head and (not body or is_small_talk(body)):  # what follows is compared with it
        return True
    sentence = sentence.strip(_MARKS)
    folded = folded_text(sentence)
    free = _asks(sentence) or _is_wish(folded) or _is_heading(folded, passages)
    known = passages if free else ""  # "The large one or the small one?" names what there is
    bare = _LABEL.sub("", sentence)
    if disagreements(
        bare, draft=draft, quoted=known, beside=known, passages=known, question=asked, asked=asked
    ):
        return False
    if free or is_small_talk(folded) or _offers(folded) or only_refers(folded):
        return True
    said = content_of(list_pattern("courtesies").sub(" ", folded))
    courtesy = list_pattern("courtesies").search(folded)
    if courtesy is not None and _is_regret(folded[courtesy.end() :], said, asked):
        return True
    is_short = len(said) <= MOST_WORDS if courtesy is None else _word_count(said) <= MOST_COURTESY_WORDS
    return is_short and said.isdisjoint(text_units(passages))


def may_be_removed(sentence: str, *, draft: str, asked: str) -> bool:
    """Whether a reply loses nothing without a sentence that a judge calls a courtesy, known here or not.

    So without a number, a date or an address, where it neither denies anything nor may limit the sentence
    before it. A name, as in a signature, is not sent either.
    """
    folded, language = folded_text(sentence), language_of(sentence)
    offer = main_clauses(folded, language)  # "if you have questions, we are here"
    if headed(sentence)[0] or LINK.match(folded) or not content_of(offer):
        return False
    if denies(folded, language) or restricts(offer, language):
        return False
    return has_no_figures(sentence, draft=draft, asked=asked)


def has_no_figures(sentence: str, *, draft: str, asked: str) -> bool:
    """Whether a sentence has no number, date or address beyond those of the conversation; names may be."""
    stated = disagreements(
        sentence, draft=draft, quoted="", beside="", passages="", question=asked, asked=asked
    )
    return all(each.kind is Fact.NAME for each in stated)


def says_moment(sentence: str, written: str, passages: str) -> bool:
    """Whether a sentence says the day or the time of the message, and nothing that the passages speak of."""
    said = content_of(without_date_names(sentence))
    if not written or _word_count(said) > MOST_WORDS or not said.isdisjoint(text_units(passages)):
        return False
    texts = {"draft": sentence, "quoted": written, "beside": "", "asked": "", "written": written}
    days = missing_dates(sentence, **texts, passages="")
    return not days and not missing_figures(sentence, **texts, question="")


def _word_count(units: frozenset[str]) -> int:
    """The words of a sentence; a word of a script without spaces has about so many pairs of letters."""
    pairs = sum(map(is_unspaced, units))
    return len(units) - pairs + pairs // PAIRS_A_WORD


_HEADS: Final = (":", "：")
"""Ends of a heading, whose items are sentences of their own."""
_MARKS: Final = " \t\n#*_"
"""Spaces and Markdown around a sentence."""
_LABEL: Final = re.compile(r"(?<=[^\W\d])\s*\d{1,2}\s*[:：]$")
"""The number of an option or step at the end of a heading ("Option 2:")."""
_PART_END: Final = re.compile(r"[\n›|]")


def _is_heading(folded: str, passages: str) -> bool:
    """Whether a folded sentence introduces others, or is a title, a heading or a cell of the passages."""
    if folded.endswith(_HEADS):
        return True
    ended = folded.endswith((".", "!", "。", "！"))
    return not ended and folded in map(str.strip, _PART_END.split(folded_text(passages)))


def asks_back(sentences: Sequence[str]) -> bool:
    """Whether sentences ask, beside greetings, thanks and regret; "Done!" or "Yes." would be an answer."""
    return any(map(_asks, sentences)) and all(_asks(each) or _is_opening(each) for each in sentences)


def thanks_back(request: ReadingRequest) -> bool:
    """Whether a draft begins with thanks, for a message that asks for nothing and follows no other one.

    "No problem!" agrees, unless the message only thanks.
    """
    first = folded_text(next(iter(request.sentences), ""))
    agrees = list_pattern("agreeing").search(first) is not None and not only_thanks(request.question)
    thanks = list_pattern("thanks_heads").search(first) is not None and not agrees
    is_second = [role for role, _ in request.conversation[-1:]] == [MessageRole.USER]
    if not thanks or is_second or has_content_signs(request.question):
        return False
    return all(_is_opening(each) or _is_wish(folded_text(each)) for each in request.sentences)


def _is_opening(sentence: str) -> bool:
    folded = folded_text(sentence)
    courteous = is_small_talk(folded) or list_pattern("courtesies").search(folded) is not None
    return courteous and not headed(sentence)[0]


def _asks(sentence: str) -> bool:
    return sentence.rstrip().endswith(("?", "？", "؟"))


def _offers(folded: str) -> bool:
    """Whether a folded sentence offers more help, and no thing."""
    offers = list_pattern("offers_of_more").search(folded) is not None
    return offers and list_pattern("claims").search(folded) is None


def _is_wish(folded: str) -> bool:
    """Whether a folded sentence is a wish of one clause ("Enjoy your visit!")."""
    found = list_pattern("wishes").search(folded.lstrip("¡"))
    is_head = found is not None and (found.start() == 0 or is_unspaced(found[0]))
    return is_head and _WISH.fullmatch(folded) is not None and list_pattern("claims").search(folded) is None


def _is_regret(rest: str, said: frozenset[str], asked: str) -> bool:
    """Whether folded text after a courtesy names its reason, or what the author wrote."""
    if _ABOUT.fullmatch(rest) or (_MISHAP.fullmatch(rest) and len(said) <= MOST_WORDS):
        return True
    negating = list_pattern("negating")
    denies = negating.search(rest) is not None and negating.search(folded_text(asked)) is None
    return _OWN.fullmatch(rest) is not None and not denies
