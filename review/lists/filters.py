"""Filters of the audit as a URL carries them, so that a list can be kept, shared and gone back to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from urllib.parse import urlencode

from db.audit import Filters, Ran, ReviewFilter, Tier
from review.lists import parsers, reasons
from review.lists.parsers import Asker, BadValue, Parser
from worker.model import Scope, Verdict

__all__ = ["DEFAULT_AGE", "FIELDS", "Asked", "Asker", "Field", "Problem", "asked"]

LONGEST: Final = 500
"""Characters of one filter: as much of a message as is stored."""
LONGEST_LIST: Final = 1000
"""Characters of a list; all reason codes together have 520."""
SHOWN: Final = 60
"""Characters of a wrong value that are said again."""
DEFAULT_AGE: Final = timedelta(hours=24)


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One filter: its name in the URL, its heading, the name in ``db.audit.Filters``, how it is read.

    Attributes:
        several: takes values separated by commas or repeated in the URL.
        about: what programs are told beside the heading.
    """

    name: str
    title: str
    target: str
    parse: Parser
    several: bool = False
    about: str = ""


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

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reason codes and groups asked for."""
        return reasons.names_in(self.values["reason"]) if "reason" in self.values else ()

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
            problems.append(_problem(field, str(bad), bad.got or text))
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
        elif known[name].several:
            given[name] = ",".join(filter(None, (given.get(name), value)))
        elif name in given and given[name] != value:
            problems.append(_problem(known[name], "one value", f"{given[name]} and {value}"))
        else:
            given[name] = value
    return given, problems


def _checked(text: str, field: Field, asker: Asker) -> Any:  # noqa: ANN401  # as the field's parser gives it
    longest = LONGEST_LIST if field.several else LONGEST
    if len(text) > longest:
        raise BadValue(f"at most {longest} characters")
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


FIELDS: Final = (
    Field(name="since", title="From", target="since", parse=parsers.since),
    Field(name="until", title="Until", target="until", parse=parsers.time_of),
    Field(name="account", title="Account", target="user_id", parse=parsers.text_of),
    Field(name="decision", title="Decision", target="decision", parse=parsers.one_of(*Verdict)),
    Field(
        name="reason",
        title="Reason",
        target="reason_codes",
        parse=parsers.reason_codes,
        several=True,
        about="codes, or blocked or failed for those of the dashboard's tiles; with commas or repeated",
    ),
    Field(name="rule", title="Rule", target="matched_rule", parse=parsers.text_of),
    Field(name="version", title="Version", target="rules_version", parse=parsers.whole),
    Field(name="tier", title="Confidence tier", target="tier", parse=parsers.one_of(*Tier)),
    Field(name="confidence_from", title="Confidence from", target="least_confidence", parse=parsers.share),
    Field(name="confidence_to", title="Confidence to", target="most_confidence", parse=parsers.share),
    Field(name="author", title="Author", target="author_id", parse=parsers.text_of),
    Field(name="conversation", title="Conversation", target="conversation_id", parse=parsers.text_of),
    Field(name="scope", title="Scope", target="scope", parse=parsers.one_of(*Scope)),
    Field(name="stage", title="Stage outcome", target="stage_outcome", parse=parsers.stage_outcome),
    Field(name="ran", title="On the way", target="ran", parse=parsers.one_of(*Ran)),
    Field(name="degraded", title="Degraded", target="degraded", parse=parsers.yes_or_no),
    Field(name="review", title="Review", target="review", parse=parsers.one_of(*ReviewFilter)),
    Field(name="assignee", title="Assigned to", target="assignee", parse=parsers.assignee),
    Field(name="text", title="Text", target="text", parse=parsers.text_of),
    Field(name="event", title="Event", target="event_id", parse=parsers.text_of),
    Field(name="message", title="Message", target="message_id", parse=parsers.text_of),
)
"""Every filter, in the order in which a URL carries them."""
_PLACE: Final = {field.name: place for place, field in enumerate(FIELDS)}
