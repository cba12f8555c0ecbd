"""Filters of the audit as a URL carries them, so that a list can be kept, shared and gone back to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias
from urllib.parse import urlencode

from db.audit import ANY_STAGE, STAGES, Filters, ReviewFilter, Tier
from review.lists.moments import moment
from worker.model import Scope, StageOutcome, Verdict
from worker.policy import Reason

LONGEST: Final = 500
"""Characters of one filter: as much of a message as is stored."""
SHOWN: Final = 60
"""Characters of a wrong value that are said again."""
DEFAULT_AGE: Final = timedelta(hours=24)
EVER: Final = "all"


class BadValue(Exception):  # noqa: N818  # becomes a Problem
    """A value is not what its field takes; the text says what was expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Who asks, and when: what some values are relative to."""

    now: datetime
    login: str = ""


Parser: TypeAlias = Callable[[str, Asker], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One filter: its name in the URL, its heading, the name in ``db.audit.Filters``, how it is read."""

    name: str
    title: str
    target: str
    parse: Parser


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A filter that cannot be used."""

    field: str
    title: str
    expected: str
    got: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a URL asks for.

    Attributes:
        values: the good ones by name, as written, in the order of ``FIELDS``.
        problems: the others; ``filters`` means nothing then.
    """

    filters: Filters
    values: Mapping[str, str]
    problems: tuple[Problem, ...] = ()

    @property
    def wrong(self) -> frozenset[str]:
        """Names of the fields that cannot be used."""
        return frozenset(each.field for each in self.problems)

    def query(self, **changes: str | None) -> str:
        """The good values as a URL's query, changed; None takes one away; always in the same order."""
        wanted = {**self.values, **changes}
        names = sorted(wanted, key=lambda name: _PLACE.get(name, len(_PLACE)))
        return urlencode([(name, value) for name in names if (value := wanted[name])])


def asked(pairs: Iterable[tuple[str, str]], asker: Asker, accounts: tuple[str, ...] | None) -> Asked:
    """The filters in a URL's query, 24 hours unless it says otherwise.

    Args:
        pairs: names and values as they came; empty values mean any.
        asker: who asks, and when.
        accounts: what the person may see; None: everything.
    """
    given, problems = _single([(name, value.strip()) for name, value in pairs])
    parsed: dict[str, Any] = {"since": asker.now - DEFAULT_AGE}
    values: dict[str, str] = {}
    for field in FIELDS:
        if not (text := given.get(field.name, "")):
            continue
        try:
            parsed[field.target] = _checked(text, field, asker)
            values[field.name] = text
        except BadValue as bad:
            problems.append(_problem(field, str(bad), text))
    problems += _contradictions(parsed, values)
    return Asked(filters=Filters(**parsed, accounts=accounts), values=values, problems=tuple(problems))


def _single(pairs: list[tuple[str, str]]) -> tuple[dict[str, str], list[Problem]]:
    given: dict[str, str] = {}
    problems = []
    known = {field.name: field for field in FIELDS}
    for name, value in pairs:
        if name not in known:
            names = ", ".join(known)
            problems.append(
                Problem(
                    field=name[:SHOWN], title="Unknown filter", expected=f"one of {names}", got=_short(name)
                )
            )
        elif name in given and given[name] != value:
            problems.append(_problem(known[name], "one value", f"{given[name]} and {value}"))
        else:
            given[name] = value
    return given, problems


def _checked(text: str, field: Field, asker: Asker) -> Any:  # noqa: ANN401  # as the field's parser gives it
    if len(text) > LONGEST:
        raise BadValue(f"at most {LONGEST} characters")
    if "\0" in text:
        raise BadValue("text without a NUL character")
    return field.parse(text, asker)


def _contradictions(parsed: Mapping[str, Any], values: dict[str, str]) -> list[Problem]:
    """What is wrong only together; the value to blame is taken out."""
    found = []
    by_name = {field.name: field for field in FIELDS}
    if "version" in values and "account" not in values:
        expected = "an account beside it, as each account counts its own versions"
        found.append(_problem(by_name["version"], expected, values.pop("version")))
    since, until = parsed.get("since"), parsed.get("until")
    if "until" in values and since is not None and until is not None and until <= since:
        found.append(
            _problem(by_name["until"], f"a time after {since:%Y-%m-%d %H:%M} UTC", values.pop("until"))
        )
    least, most = parsed.get("least_confidence"), parsed.get("most_confidence")
    if least is not None and most is not None and most < least:
        expected = f"at least {least:g}, where it begins"
        found.append(_problem(by_name["confidence_to"], expected, values.pop("confidence_to")))
    return found


def _problem(field: Field, expected: str, got: str) -> Problem:
    return Problem(field=field.name, title=field.title, expected=expected, got=_short(got))


def _short(text: str) -> str:
    cut = "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text[:SHOWN])
    return cut if len(text) <= SHOWN else f"{cut}… ({len(text):,} characters)"


def _text(text: str, _: Asker) -> str:
    return text


def _since(text: str, asker: Asker) -> datetime | None:
    return None if text == EVER else _moment(text, asker)


def _moment(text: str, asker: Asker) -> datetime:
    try:
        return moment(text, asker.now)
    except ValueError as error:
        raise BadValue("a time such as 2026-11-21T10:00, or an age such as 24h or 7d") from error


def _one_of(*known: str) -> Parser:
    def parse(text: str, _: Asker) -> str:
        for each in known:
            if text.lower() == each.lower():
                return each
        raise BadValue(f"one of {', '.join(known)}")

    return parse


def _share(text: str, _: Asker) -> float:
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise BadValue("a number from 0 to 1")
    return number


def _count(text: str, _: Asker) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise BadValue("a whole number")
    return int(text)


def _yes(text: str, _: Asker) -> bool:
    if text.lower() not in ("yes", "no"):
        raise BadValue("yes or no")
    return text.lower() == "yes"


def _stage(text: str, _: Asker) -> str:
    stage, _colon, outcome = text.partition(":")
    if stage not in (*STAGES, ANY_STAGE) or outcome not in list(StageOutcome):
        raise BadValue(
            f"a stage ({', '.join((*STAGES, ANY_STAGE))}), a colon and an outcome ({', '.join(StageOutcome)})"
        )
    return text


def _tier(text: str, _: Asker) -> Tier:
    return Tier(_one_of(*Tier)(text, _))


def _review(text: str, _: Asker) -> ReviewFilter:
    return ReviewFilter(_one_of(*ReviewFilter)(text, _))


def _assignee(text: str, asker: Asker) -> str:
    return asker.login if text == "me" else text


FIELDS: Final = (
    Field(name="since", title="From", target="since", parse=_since),
    Field(name="until", title="Until", target="until", parse=_moment),
    Field(name="account", title="Account", target="user_id", parse=_text),
    Field(name="decision", title="Decision", target="decision", parse=_one_of(*Verdict)),
    Field(name="reason", title="Reason", target="reason_code", parse=_one_of(*Reason)),
    Field(name="rule", title="Rule", target="matched_rule", parse=_text),
    Field(name="version", title="Version", target="rules_version", parse=_count),
    Field(name="tier", title="Confidence tier", target="tier", parse=_tier),
    Field(name="confidence_from", title="Confidence from", target="least_confidence", parse=_share),
    Field(name="confidence_to", title="Confidence to", target="most_confidence", parse=_share),
    Field(name="author", title="Author", target="author_id", parse=_text),
    Field(name="conversation", title="Conversation", target="conversation_id", parse=_text),
    Field(name="scope", title="Scope", target="scope", parse=_one_of(*Scope)),
    Field(name="stage", title="Stage outcome", target="stage_outcome", parse=_stage),
    Field(name="degraded", title="Degraded", target="degraded", parse=_yes),
    Field(name="review", title="Review", target="review", parse=_review),
    Field(name="assignee", title="Assigned to", target="assignee", parse=_assignee),
    Field(name="text", title="Text", target="text", parse=_text),
    Field(name="event", title="Event", target="event_id", parse=_text),
    Field(name="message", title="Message", target="message_id", parse=_text),
)
"""Every filter, in the order in which a URL carries them."""
_PLACE: Final = {field.name: place for place, field in enumerate(FIELDS)}
