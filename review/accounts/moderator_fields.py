"""The moderators of an account as form fields: one numbered set of fields for each."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from review.languages import gettext as _
from review.typed.numbers import typed_number
from worker.classifiers.endpoints import ClassifierEndpoint
from worker.classifiers.formats import FORMATS
from worker.model import OPENAI_MODERATION, Account, ModeratorChoice
from worker.moderator_settings import MODERATOR_PARTS, MOST_MODERATORS

ROWS: Final = range(1, MOST_MODERATORS + 1)


def field_name(row: int, part: str) -> str:
    """Name of a form field, such as ``moderator_2_policy``."""
    return f"moderator_{row}_{part}"


FIELDS: Final = tuple(field_name(row, part) for row in ROWS for part in MODERATOR_PARTS)
"""Every form field; a row whose fields are all empty is no moderator."""


def moderator_texts(account: Account) -> dict[str, str]:
    """The fields filled with an account's moderators."""
    found = dict.fromkeys(FIELDS, "")
    for row, each in zip(ROWS, account.moderators, strict=False):
        found |= {field_name(row, part): text for part, text in part_texts(each).items()}
    return found


def part_texts(choice: ModeratorChoice) -> dict[str, str]:
    """The parts of a moderator as text, thresholds one a line."""
    thresholds = "\n".join(f"{name} = {value!r}" for name, value in choice.thresholds.items())
    return {
        "name": choice.name,
        "endpoint": choice.endpoint,
        "failure": choice.failure.value if choice.failure else "",
        "thresholds": thresholds,
        "policy": choice.policy,
    }


def filled_rows(fields: Mapping[str, str]) -> list[int]:
    """Numbers of the rows that are moderators."""
    return [row for row in ROWS if any(fields[field_name(row, part)].strip() for part in MODERATOR_PARTS)]


def moderator_values(fields: Mapping[str, str]) -> list[dict[str, Any]]:
    """The moderators that the fields describe, for ``worker.account_settings.changed``."""
    return [
        {
            "name": fields[field_name(row, "name")].strip(),
            "endpoint": fields[field_name(row, "endpoint")].strip(),
            "failure": fields[field_name(row, "failure")] or None,
            "thresholds": dict(_thresholds(fields[field_name(row, "thresholds")])),
            "policy": fields[field_name(row, "policy")],
        }
        for row in filled_rows(fields)
    ]


def error_field(fields: Mapping[str, str], place: str) -> tuple[str, str]:
    """The form field of a problem at ``place``, such as ``0.thresholds.hate``, and the rest of the place."""
    number, _, inside = place.partition(".")
    rows = filled_rows(fields)
    if not number.isdecimal() or int(number) >= len(rows):
        return "moderators", place
    part, _, rest = inside.partition(".")
    return field_name(rows[int(number)], part if part in MODERATOR_PARTS else "name"), rest


def endpoint_warnings(fields: Mapping[str, str], declared: Mapping[str, ClassifierEndpoint]) -> Iterator[str]:
    """Moderators with which nothing would pass: an unknown classifier, or a policy that does not fit it."""
    for each in moderator_values(fields):
        name, endpoint = each["name"], each["endpoint"]
        if endpoint == OPENAI_MODERATION:
            continue
        if endpoint not in declared:
            text = _(
                "%(moderator)s: this deployment declares no classifier %(endpoint)s to the review pages;"
                " without one nothing passes (MODERATION_MISCONFIGURED)."
            )
            yield text % {"moderator": name, "endpoint": endpoint}
            continue
        reads, has = FORMATS[declared[endpoint].format].reads_policy, bool(each["policy"].strip())
        if reads != has:
            text = (
                _("%(moderator)s: %(endpoint)s needs a policy; nothing passes until this is corrected.")
                if reads
                else _(
                    "%(moderator)s: %(endpoint)s has categories of its own and takes no policy; nothing"
                    " passes until this is corrected."
                )
            )
            yield text % {"moderator": name, "endpoint": endpoint}


def endpoint_names(declared: Collection[str]) -> tuple[str, ...]:
    """The endpoints that an account may name."""
    return (OPENAI_MODERATION, *declared)


def _thresholds(text: str) -> Iterator[tuple[str, float | str]]:
    """Category and number of each line; a text that is no number stays, for the check to report."""
    for line in text.splitlines():
        if line.strip():
            name, _sign, value = line.rpartition("=")
            try:
                yield name.strip(), typed_number(value)
            except ValueError:
                yield name.strip() or value.strip(), value.strip()
