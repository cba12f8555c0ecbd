"""Personal data in a text: e-mail addresses, phone numbers, card numbers and IBANs."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from html import unescape
from itertools import chain
from typing import Final

from stdnum import iban, luhn

from worker.masking.kinds import PersonalKind, PersonalSpan

_LETTER: Final = "A-Za-z0-9\u00c0-\u024f\u0370-\u03ff\u0400-\u04ff"
"""Scripts with spaces between words: Han beside an address does not belong to it."""
_LOCAL: Final = rf"[{_LETTER}_!#$'*+^`{{|}}~-]"
EMAIL: Final = re.compile(
    rf"(?<![{_LETTER}_+-])(?:{_LOCAL}++(?:\.{_LOCAL}++)*+|\"[^\"\n@]{{1,64}}\")(?:[@＠]|%40)"
    rf"(?:[{_LETTER}](?:[{_LETTER}-]{{0,61}}[{_LETTER}])?\.){{1,8}}[{_LETTER}-]{{2,62}}"
)
IBAN: Final = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}(?:[ \u00a0\u202f.-]?[A-Za-z0-9]){11,30}")
LETTER_OR_DIGIT: Final = re.compile(r"[A-Za-z0-9]")
SHORTEST_IBAN: Final = 15
DIGIT_RUN: Final = re.compile(r"(?<!\d)\d(?:[ .\u00a0\u202f\u2009–-]?\d){12,}+")
DIGIT_GROUP: Final = re.compile(r"\d+")
MOST_CARD_DIGITS: Final = 19
CARD_PREFIX: Final = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}"
    r"|3(?:0[0-5]|[689]\d)\d{11}|35(?:2[89]|[3-8]\d)\d{12}|6(?:011|4[4-9]\d|5\d\d)\d{12}|62\d{14,17}"
    r"|(?:5[06-9]|6[37])\d{10,17}"
)
"""Digits of a card by issuer (ISO/IEC 7812): Visa, Mastercard in two ranges, American Express, Diners Club,
JCB, Discover, UnionPay, Maestro."""
PHONE_DIGITS: Final = re.compile(r"\d(?:[^\d\n]{0,4}\d){5}")
"""The shortest number that is looked for; most texts have no such number."""
LEAST_PHONE_DIGITS: Final = 6
MOST_TRIES: Final = 500
"""A search ends after so many numbers that are no phone number, which take 0.1 s."""
OTHER_SHAPE: Final = re.compile(
    r"\d{1,3}(?:\.\d{1,3}){2,3}|\d{1,3}\.\d{5,}"
    r"|(?:(?:0?[1-9]|[12]\d|3[01])[./-](?:0?[1-9]|1[0-2])[./-](?:19|20)\d\d"
    r"|(?:19|20)\d\d[./-](?:0?[1-9]|1[0-2])[./-](?:0?[1-9]|[12]\d|3[01]))(?:\D.*)?"
)
"""Addresses of computers, versions, decimal fractions and dates; phone numbers have other groups."""
OPEN_BRACKET: Final = re.compile(r"[(\[（［](?![^)\]）］]*[)\]）］])")
LABEL_CHARS: Final = 24
NOT_A_PHONE: Final = re.compile(
    r"(?:#|№|\b(?:order|invoice|tracking|parcel|ticket|case|booking|reservation|receipt|serial|article"
    r"|item|isbn|sku|ref|reference|customer id|id"
    r"|bestellung|bestellnummer|auftrag|rechnung|rechnungsnummer|sendung|kundennummer"
    r"|pedido|factura|commande|facture|colis|đơn hàng|hóa đơn|mã đơn|mã vận đơn)\b"
    r"|订单|發票|发票|单号|快递|运单|编号)[\s:：#.°ºnor№号=-]{0,8}\Z",
    re.IGNORECASE,
)
"""A label right before digits without a sign between them: the number of something else."""


def personal_spans(text: str, countries: Sequence[str] = ()) -> tuple[PersonalSpan, ...]:
    """The personal data of a text, in order, without overlaps.

    Args:
        text: any text.
        countries: ISO 3166 codes whose national phone formats count; international formats always do.
    """
    return _spans(text, (_ibans, _cards, _emails, partial(_phones, countries=countries)))


def spans_without_phones(text: str) -> tuple[PersonalSpan, ...]:
    """The e-mail addresses, card numbers and IBANs of a text; a tenth of the time of ``personal_spans``."""
    return _spans(text, (_ibans, _cards, _emails))


def _spans(text: str, finders: Sequence[Callable[[str], Iterator[PersonalSpan]]]) -> tuple[PersonalSpan, ...]:
    plain, found = plain_text(text), list[PersonalSpan]()
    for find in finders:
        found = sorted(chain(found, _beside(plain.text, found, find)), key=lambda each: each.start)
    return tuple(_in_original(plain, each) for each in found)


def _in_original(plain: PlainText, span: PersonalSpan) -> PersonalSpan:
    start, end = plain.place(span.start, span.end)
    return replace(span, start=start, end=end)


def _beside(
    text: str, found: Sequence[PersonalSpan], find: Callable[[str], Iterator[PersonalSpan]]
) -> Iterator[PersonalSpan]:
    """The spans that ``find`` gives in the stretches between those already found."""
    starts, ends = (0, *(each.end for each in found)), (*(each.start for each in found), len(text))
    for start, end in zip(starts, ends, strict=True):
        for span in find(text[start:end]):
            yield replace(span, start=start + span.start, end=start + span.end)


def _emails(text: str) -> Iterator[PersonalSpan]:
    if "@" in text or "＠" in text or "%40" in text:
        for match in EMAIL.finditer(text):
            yield PersonalSpan(kind=PersonalKind.EMAIL, start=match.start(), end=match.end())


def _ibans(text: str) -> Iterator[PersonalSpan]:
    """Each candidate, cut back until length, structure and checksum are right for its country."""
    at = 0
    while match := IBAN.search(text, at):
        at = match.start() + 1
        for end in range(match.end(), match.start() + SHORTEST_IBAN - 1, -1):
            whole = text[end - 1].isalnum() and not LETTER_OR_DIGIT.match(text, end)
            if whole and _is_iban(_plain(text[match.start() : end])):
                yield PersonalSpan(kind=PersonalKind.IBAN, start=match.start(), end=end)
                at = end
                break


def _cards(text: str) -> Iterator[PersonalSpan]:
    """Runs of digit groups, in which the first groups that make a card number count."""
    for run in DIGIT_RUN.finditer(text):
        groups = [match.span() for match in DIGIT_GROUP.finditer(text, run.start(), run.end())]
        first = 0
        while first < len(groups):
            last = _card_end(text, groups, first)
            if last is not None:
                yield PersonalSpan(kind=PersonalKind.CARD, start=groups[first][0], end=groups[last][1])
            first = first + 1 if last is None else last + 1


def _card_end(text: str, groups: Sequence[tuple[int, int]], first: int) -> int | None:
    """The last group of the longest card number that begins with this group."""
    digits, found = "", None
    for last in range(first, len(groups)):
        digits += text[slice(*groups[last])]
        if len(digits) > MOST_CARD_DIGITS:
            break
        if CARD_PREFIX.fullmatch(digits) and luhn.is_valid(digits):
            found = last
    return found


def _phones(text: str, *, countries: Sequence[str]) -> Iterator[PersonalSpan]:
    if PHONE_DIGITS.search(text) is None:
        return
    from phonenumbers import PhoneNumberMatcher  # noqa: PLC0415  # 2 MB that only masking needs

    found = {
        (match.start, match.end)
        for country in countries or (None,)
        for match in PhoneNumberMatcher(text, country.upper() if country else None, max_tries=MOST_TRIES)
    }
    at = 0
    for start, end in sorted(found, key=lambda each: (each[0], -each[1])):
        if start >= at and not _is_another_number(text, start, end):
            opens = OPEN_BRACKET.match(text, start, end) is not None
            yield PersonalSpan(kind=PersonalKind.PHONE, start=start + opens, end=end)
            at = end


def _is_another_number(text: str, start: int, end: int) -> bool:
    raw = text[start:end]
    if OTHER_SHAPE.fullmatch(raw) or sum(char.isdigit() for char in raw) < LEAST_PHONE_DIGITS:
        return True
    return raw.isdigit() and NOT_A_PHONE.search(text[max(0, start - LABEL_CHARS) : start]) is not None


def _is_iban(number: str) -> bool:
    """The checksum first: the library also reads its table of countries, which takes 20 times as long."""
    rest = int("".join(str(int(char, 36)) for char in number[4:] + number[:4])) % 97
    return rest == 1 and iban.is_valid(number, check_country=False)


def _plain(text: str) -> str:
    return "".join(char for char in text if char.isascii() and char.isalnum()).upper()


INVISIBLE: Final = (
    "\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\U000e0000-\U000e007f"
)
ENTITY: Final = r"&(?:\#\d{2,4}|\#[xX][0-9a-fA-F]{2,4}|commat|period);"
DISGUISED: Final = re.compile(
    rf"[{INVISIBLE}]|{ENTITY}|[\uff01-\uff5e]|(?![0-9])\d|[\u2460-\u24ff\U0001d400-\U0001d7ff]"
)
"""Invisible characters, entities of HTML, full-width and mathematical letters, digits of other scripts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainText:
    """A folded text.

    Attributes:
        text: without invisible characters; entities, other forms of letters and other digits as ASCII.
        starts: place in the original where each character begins; empty: nothing was folded.
        ends: place behind it.
    """

    text: str
    starts: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where a stretch of ``text`` stands in the original."""
        return (self.starts[start], self.ends[end - 1]) if self.starts else (start, end)


def plain_text(text: str) -> PlainText:
    """The folded text; most texts have nothing to fold, and cost one search."""
    parts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    at = 0
    for match in DISGUISED.finditer(text):
        for place in range(at, match.start()):
            parts.append(text[place])
            starts.append(place)
            ends.append(place + 1)
        for char in _folded(match[0]):
            parts.append(char)
            starts.append(match.start())
            ends.append(match.end())
        at = match.end()
    if not at:
        return PlainText(text=text)
    rest = range(at, len(text))
    return PlainText(
        text="".join(parts) + text[at:],
        starts=(*starts, *rest),
        ends=(*ends, *(place + 1 for place in rest)),
    )


def _folded(found: str) -> str:
    if len(found) > 1:
        return unescape(found)
    digit = unicodedata.digit(found, None) if found.isdecimal() else None
    if digit is not None:
        return str(digit)
    if unicodedata.category(found) == "Cf":
        return ""
    plain = unicodedata.normalize("NFKC", found)
    return plain if len(plain) == 1 else found
