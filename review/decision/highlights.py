"""Findings in a text: the places where rules matched, highlighted without changing what can be copied."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from markupsafe import Markup, escape

from review.languages import gettext as _
from review.languages import mark, ngettext
from review.marked_text import MarkedRun, TextRange, marked_runs
from worker.snapshot import Snapshot, SnapshotFinding

MESSAGE: Final = mark("message")
DRAFT: Final = mark("draft")
INVISIBLE: Final = frozenset({"Cf", "Cc", "Zl", "Zp"})
"""General categories of invisible characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchLine:
    """One line of the legend: the finding under its number, and where it is."""

    number: int
    subject: str
    finding: SnapshotFinding
    place: str


def is_reply_stage(stage: str) -> bool:
    """Whether a stage looked at the draft; else at the message."""
    return stage.endswith("_reply")


def finding_spans(snapshot: Snapshot, *, reply: bool) -> dict[int, TextRange]:
    """The spans of the findings in the message, or in the draft, each under the finding's number from 1."""
    return {
        number: each.span
        for number, each in enumerate(snapshot.findings, 1)
        if each.span is not None and is_reply_stage(each.stage) is reply
    }


def match_lines(snapshot: Snapshot, text: str, draft: str) -> Iterator[MatchLine]:
    """The legend of a message and its draft; ``draft`` is empty when the page does not show it."""
    for number, each in enumerate(snapshot.findings, 1):
        reply = is_reply_stage(each.stage)
        if each.span is None:
            place = _("the text as a whole")
        elif reply and not draft:
            place = _("characters %(first)s to %(last)s of the draft") % _ends(each.span)
        else:
            place = span_place(draft if reply else text, each.span)
        yield MatchLine(number=number, subject=DRAFT if reply else MESSAGE, finding=each, place=place)


def highlighted_html(text: str, spans: Mapping[int, TextRange]) -> Markup:
    """The text as HTML; numbers and names of invisible characters are attributes: they are not copied."""
    return Markup("").join(_html(piece) for piece in marked_runs(text, spans))


def cited_html(text: str, spans: Sequence[TextRange]) -> Markup:
    """The text as HTML with sentences marked that a draft cites."""
    numbered = dict(enumerate(spans, 1))
    return Markup("").join(
        Markup('<mark class="cited">{}</mark>').format(_named(piece.text))
        if piece.numbers
        else escape(piece.text)
        for piece in marked_runs(text, numbered)
    )


def quoted_html(text: str, quotes: Mapping[str, TextRange]) -> Markup:
    """The text as HTML with a judge's quotes marked; each mark has the quote's id and links its sentence.

    ``quotes`` are spans under ids as ``quote-2-1``: the first quote of the second sentence. A span may occur
    twice. The number of the sentence is an attribute: it is not copied.
    """
    names, begun, pieces = tuple(quotes), set[int](), []
    for piece in marked_runs(text, dict(enumerate(quotes.values()))):
        new = [number for number in piece.numbers if number not in begun]
        begun |= set(new)
        pieces.append(_quoted_run(piece, [names[number] for number in new]))
        pieces += [_sentence_link(names[number]) for number in piece.ends]
    return Markup("").join(pieces)


def _quoted_run(piece: MarkedRun, names: Sequence[str]) -> Markup:
    if not piece.numbers:
        return escape(piece.text)
    html = _named(piece.text)
    for name in names[1:]:
        html = Markup('<span id="{}">{}</span>').format(name, html)
    if not names:
        return Markup('<mark class="cited">{}</mark>').format(html)
    return Markup('<mark class="cited" id="{}">{}</mark>').format(names[0], html)


def _sentence_link(name: str) -> Markup:
    number = name.split("-")[1]
    label = _("To sentence %(number)s of the reading") % {"number": number}
    return Markup('<a class="to-sentence" href="#sentence-{}" data-number="{}" aria-label="{}"></a>').format(
        number, number, label
    )


def span_place(text: str, span: TextRange) -> str:
    """Where a span is in the stored part of a text, in words."""
    start, end = span
    if start >= len(text):
        words = ngettext(
            "character %(last)s, beyond the stored part",
            "characters %(first)s to %(last)s, beyond the stored part",
            end - start,
        )
    elif end > len(text):
        words = _("characters %(first)s to %(last)s, partly beyond the stored part")
    else:
        words = ngettext("character %(last)s", "characters %(first)s to %(last)s", end - start)
    return words % _ends(span)


def _ends(span: TextRange) -> dict[str, int]:
    """The first and the last character of a span, counted from 1."""
    return {"first": span[0] + 1, "last": span[1]}


def _html(piece: MarkedRun) -> Markup:
    if not piece.numbers:
        return escape(piece.text)
    kind = "twice" if len(piece.numbers) > 1 else "once"
    ends = ", ".join(map(str, piece.ends))
    return Markup('<mark class="{}" data-ends="{}">{}</mark>').format(kind, ends, _named(piece.text))


def _named(text: str) -> Markup:
    """A text whose invisible characters show their codes."""
    return Markup("").join(
        _with_codes(run) if named else escape("".join(run)) for named, run in groupby(text, _invisible)
    )


def _with_codes(characters: Iterator[str]) -> Markup:
    span = Markup('<bdi class="invisible" data-code="{}">{}</bdi>')
    return Markup("").join(span.format(f"U+{ord(each):04X}", each) for each in characters)


def _invisible(character: str) -> bool:
    return unicodedata.category(character) in INVISIBLE and character not in "\n\r\t"
