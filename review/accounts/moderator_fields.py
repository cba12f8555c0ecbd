"""The moderators of an account as form fields: one numbered set of fields for each."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from review.languages import gettext as _
from review.typed.numbers import typed_number
from worker.classifiers.endpoints import ClassifierEndpoint
from worker.classifiers.formats import FORMATS
from worker.model import OPENAI_MODERATION, ModeratorChoice
from worker.moderator_settings import MODERATOR_PARTS, MOST_MODERATORS

ROWS: Final = range(MOST_MODERATORS)


def moderator_texts(chosen: Collection[ModeratorChoice]) -> dict[str, str]:
    """The fields, such as ``1.policy``; a row whose fields are all empty is no moderator."""
    found = {f"{row}.{part}": "" for row in ROWS for part in MODERATOR_PARTS}
    for row, each in zip(ROWS, chosen, strict=False):
        found |= {f"{row}.{part}": text for part, text in part_texts(each).items()}
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


def filled_rows(typed: Mapping[str, str]) -> list[int]:
    """Numbers of the rows that are moderators."""
    return [row for row in ROWS if any(typed[f"{row}.{part}"].strip() for part in MODERATOR_PARTS)]


def moderator_values(typed: Mapping[str, str]) -> list[dict[str, Any]]:
    """The moderators that the fields describe, for ``worker.account_settings.changed``."""
    return [
        {
            "name": typed[f"{row}.name"].strip(),
            "endpoint": typed[f"{row}.endpoint"].strip(),
            "failure": typed[f"{row}.failure"] or None,
            "thresholds": dict(_thresholds(typed[f"{row}.thresholds"])),
            "policy": typed[f"{row}.policy"],
        }
        for row in filled_rows(typed)
    ]


def error_part(typed: Mapping[str, str], place: str) -> str:
    """The part of a problem at a place such as ``0.thresholds.hate``, which counts moderators, not rows."""
    number, _, inside = place.partition(".")
    rows = filled_rows(typed)
    if not number.isdecimal() or int(number) >= len(rows):
        return place
    return f"{rows[int(number)]}.{inside or 'name'}"


def endpoint_warnings(typed: Mapping[str, str], declared: Mapping[str, ClassifierEndpoint]) -> Iterator[str]:
    """Moderators with which nothing would pass: an unknown classifier, or a policy that does not fit it."""
    for each in moderator_values(typed):
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


def _thresholds(text: str) -> Iterator[tuple[str, float | str]]:
    """Category and number of each line; a text that is no number stays, for the check to report."""
    for line in text.splitlines():
        if line.strip():
            name, _sign, value = line.rpartition("=")
            try:
                yield name.strip(), typed_number(value)
            except ValueError:
                yield name.strip() or value.strip(), value.strip()
