"""Parsers of filter values: from text to the value in ``db.audit.filters.Filters``."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeAlias
from uuid import UUID

from db.audit.snapshot_filters import ANY_STAGE
from db.identifiers import parsed_id
from review.languages import gettext
from review.typed.kinds import MOMENT, SINCE, Number, QueryText, ShareValue, text_like
from review.typed.kinds import one_of as one_of_kind
from review.typed.moments import moment
from review.typed.numbers import typed_number
from review.words import reasons as reason_labels
from worker.model import STAGES, StageOutcome

EVER: Final = "all"
EXAMPLE_ID: Final = "01a20047-0dfa-71d7-8e88-c1d4329d1fb5"


class BadValue(Exception):
    """A value that its field does not take; the text is the expectation, ``got`` the wrong part."""

    def __init__(self, expected: str, got: str = "") -> None:
        super().__init__(expected)
        self.got = got


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseContext:
    """What relative values refer to: the time, and the login of the person; empty on the command line."""

    now: datetime
    login: str = ""


Parser: TypeAlias = Callable[[str, ParseContext], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterField:
    """One filter.

    Attributes:
        name: in a URL; the option is ``--confidence-from`` for ``confidence_from``.
        title: label on the page.
        about: a sentence for the option's help and the OpenAPI document.
        parse: from text to the value of ``target``.
        target: the field of ``db.audit.filters.Filters``; ``further`` of optional features takes several.
        several: takes values separated by commas or repeated.
        choices: the only values, in any case.
        suggestions: some values, which page and shell completion offer.
        example: placeholder on the page.
        opposite: of a filter with yes and no, the option that means no.
        written: the type of the value in a query of the JSON API, where parser and choices do not give it.
    """

    name: str
    title: str
    about: str
    parse: Parser
    target: str
    several: bool = False
    choices: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    example: str = ""
    opposite: str = ""
    written: Any = None

    @property
    def kind(self) -> Any:
        """The type of the value in a query of the JSON API."""
        if self.written is not None:
            return self.written
        return one_of_kind(*self.choices) if self.choices else KINDS.get(self.parse, QueryText)


def text_of(text: str, _: ParseContext) -> str:
    """Text as it is."""
    return text


def since(text: str, context: ParseContext) -> datetime | None:
    """Where a range begins; None for ``all``."""
    return None if text == EVER else time_of(text, context)


def time_of(text: str, context: ParseContext) -> datetime:
    """A time or an age."""
    try:
        return moment(text, context.now)
    except ValueError as error:
        raise BadValue(gettext("a time such as 2026-11-21T10:00, or an age such as 24h or 7d")) from error


def identifier(text: str, _: ParseContext) -> UUID:
    """The id of something stored."""
    if (found := parsed_id(text)) is None:
        raise BadValue(gettext("an id such as %(example)s") % {"example": EXAMPLE_ID})
    return found


def one_of(*known: str) -> Parser:
    """A parser that takes one of these, in any case."""

    def parse(text: str, _: ParseContext) -> str:
        for each in known:
            if text.lower() == each.lower():
                return each
        raise BadValue(gettext("one of %(known)s") % {"known": ", ".join(known)})

    return parse


def reason_codes(text: str, _: ParseContext) -> tuple[str, ...]:
    """The codes of a list of reasons."""
    try:
        return reason_labels.reason_codes(reason_labels.parse_names(text))
    except reason_labels.UnknownReason as error:
        near = difflib.get_close_matches(str(error).upper(), reason_labels.NAMES, n=1, cutoff=0)
        known = gettext("a reason code such as %(code)s") % {"code": near[0]}
        raise BadValue(known, str(error)) from error


def share(text: str, _: ParseContext) -> float:
    """A number from 0 to 1, with a point or a comma."""
    try:
        number = typed_number(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise BadValue(gettext("a number from 0 to 1"))
    return number


def whole_number(text: str, _: ParseContext) -> int:
    """A whole number."""
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise BadValue(gettext("a whole number"))
    return int(text)


def yes_or_no(text: str, _: ParseContext) -> bool:
    """``yes`` or ``no``."""
    if text.lower() not in ("yes", "no"):
        raise BadValue(gettext("one of %(known)s") % {"known": "yes, no"})
    return text.lower() == "yes"


def stage_outcome(text: str, _: ParseContext) -> str:
    """A stage and its outcome, such as ``moderation:failed``, in any case."""
    stage, _colon, outcome = text.lower().partition(":")
    if stage not in (*STAGES, ANY_STAGE) or outcome not in list(StageOutcome):
        expected = gettext("a stage (%(stages)s), a colon and an outcome (%(outcomes)s)")
        known = {"stages": ", ".join((*STAGES, ANY_STAGE)), "outcomes": ", ".join(StageOutcome)}
        raise BadValue(expected % known)
    return f"{stage}:{outcome}"


def assignee(text: str, context: ParseContext) -> str:
    """A login; ``me`` is the login of the person."""
    return context.login if text == "me" and context.login else text


KINDS: Final[Mapping[Parser, Any]] = {
    since: SINCE,
    time_of: MOMENT,
    identifier: UUID,
    reason_codes: one_of_kind(*reason_labels.NAMES),
    share: ShareValue,
    whole_number: Number,
    stage_outcome: text_like(
        rf"(?:\*|{'|'.join(STAGES)}):(?:{'|'.join(StageOutcome)})",
        "a stage or *, a colon and an outcome, such as moderation:failed",
    ),
}
"""What programs write of what a parser takes; the others take any text."""
