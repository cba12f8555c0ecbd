"""The filter of the audit for decisions that a candidate in shadow would have ended otherwise."""

from __future__ import annotations

from typing import Final

from db.identifiers import parsed_id
from review.languages import gettext
from review.lists.filter_parsers import BadValue, FilterField, ParseContext
from review.typed.kinds import UUID_TEXT, text_like
from trials.pure.replay.groups import DIFFERENCES
from trials.store.differences import ShadowFilter

ANY_DIFFERENCE: Final = "any"
KINDS: Final = (ANY_DIFFERENCE, *(each.value for each in DIFFERENCES))


def parse_shadow(text: str, _: ParseContext) -> ShadowFilter:
    """A difference and the candidate that makes it, such as ``newly_stopped:01a2...``."""
    kind, _colon, candidate = text.lower().partition(":")
    expected = gettext("one of %(known)s, a colon and the id of a candidate")
    expected %= {"known": ", ".join(KINDS)}
    if kind not in KINDS or (candidate_id := parsed_id(candidate)) is None:
        raise BadValue(expected)
    return ShadowFilter(candidate_id=candidate_id, kind=None if kind == ANY_DIFFERENCE else kind)


FILTERS: Final = (
    FilterField(
        name="shadow",
        title="Shadow",
        about="A candidate in shadow would have ended it otherwise: any, newly_stopped, newly_released,"
        " other_reply or other_ending, a colon and the id of the candidate.",
        parse=parse_shadow,
        target="further",
        written=text_like(
            f"(?:{'|'.join(KINDS)}):{UUID_TEXT}", "a difference, a colon and the id of a candidate"
        ),
        example="newly_stopped:ID",
    ),
)
