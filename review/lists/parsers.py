"""How the value of each filter is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeAlias

from db.audit import ANY_STAGE, STAGES
from review.lists import reasons
from review.lists.moments import moment
from worker.model import StageOutcome

EVER: Final = "all"


class BadValue(Exception):  # noqa: N818  # becomes a Problem
    """A value is not what its field takes; the text says what was expected, ``got`` which part was wrong."""

    def __init__(self, expected: str, got: str = "") -> None:
        super().__init__(expected)
        self.got = got


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Who asks, and when: what some values are relative to."""

    now: datetime
    login: str = ""


Parser: TypeAlias = Callable[[str, Asker], Any]


def text_of(text: str, _: Asker) -> str:
    """Text as it is."""
    return text


def since(text: str, asker: Asker) -> datetime | None:
    """Where a range begins; None for ``all``."""
    return None if text == EVER else time_of(text, asker)


def time_of(text: str, asker: Asker) -> datetime:
    """A time or an age."""
    try:
        return moment(text, asker.now)
    except ValueError as error:
        raise BadValue("a time such as 2026-11-21T10:00, or an age such as 24h or 7d") from error


def one_of(*known: str) -> Parser:
    """A parser that takes one of these, in any case."""

    def parse(text: str, _: Asker) -> str:
        for each in known:
            if text.lower() == each.lower():
                return each
        raise BadValue(f"one of {', '.join(known)}")

    return parse


def reason_codes(text: str, _: Asker) -> tuple[str, ...]:
    """The codes of a list of reasons."""
    try:
        return reasons.codes_of(reasons.names_in(text))
    except reasons.UnknownReason as error:
        raise BadValue(f"one or more of {', '.join(reasons.NAMES)}", str(error)) from error


def share(text: str, _: Asker) -> float:
    """A number from 0 to 1; a comma is a point."""
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise BadValue("a number from 0 to 1")
    return number


def whole(text: str, _: Asker) -> int:
    """A whole number."""
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise BadValue("a whole number")
    return int(text)


def yes_or_no(text: str, _: Asker) -> bool:
    """``yes`` or ``no``."""
    if text.lower() not in ("yes", "no"):
        raise BadValue("yes or no")
    return text.lower() == "yes"


def stage_outcome(text: str, _: Asker) -> str:
    """A stage and its outcome, such as ``moderation:failed``."""
    stage, _colon, outcome = text.partition(":")
    if stage not in (*STAGES, ANY_STAGE) or outcome not in list(StageOutcome):
        raise BadValue(
            f"a stage ({', '.join((*STAGES, ANY_STAGE))}), a colon and an outcome ({', '.join(StageOutcome)})"
        )
    return text


def assignee(text: str, asker: Asker) -> str:
    """A login; ``me`` is whoever asks."""
    return asker.login if text == "me" else text
