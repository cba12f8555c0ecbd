"""Words of erasures, holds and appeals, for people who review and for the authors who appeal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from compliance.appeals.records import AppealOutcome, AppealSource, RefusalCode
from review.languages import gettext, mark, worded

SUBJECT_KINDS: Final[Mapping[str, str]] = {
    "account": mark("account"),
    "author": mark("author"),
    "conversation": mark("conversation"),
    "decision": mark("decision"),
}
"""On what a legal hold or an erasure is; total over ``HoldKind`` and ``ErasureKind``."""
ERASURE_PHASES: Final[Mapping[str, str]] = {
    "requested": mark("requested"),
    "previewed": mark("counted, waits for a person"),
    "waiting": mark("waiting"),
    "finished": mark("finished"),
    "cancelled": mark("cancelled"),
}
RUNNING: Final = mark("running")
"""Every phase between confirmation and end."""
OUTCOMES: Final[Mapping[AppealOutcome, str]] = {
    AppealOutcome.UPHELD: mark("Upheld"),
    AppealOutcome.RESTORED: mark("Restored"),
}
"""Total."""
SOURCES: Final[Mapping[AppealSource, str]] = {
    AppealSource.API: mark("by API"),
    AppealSource.LINK: mark("by link"),
    AppealSource.PAGE: mark("entered by a person"),
}
"""Total."""
FOR_AUTHORS: Final[Mapping[AppealOutcome, str]] = {
    AppealOutcome.UPHELD: mark("The decision stands."),
    AppealOutcome.RESTORED: mark("The decision was changed in your favour."),
}
"""Total."""
REFUSALS: Final[Mapping[RefusalCode, str]] = {
    RefusalCode.APPEALS_OFF: mark("Appeals are not taken here."),
    RefusalCode.TOO_LATE: mark("The time for an appeal is over."),
    RefusalCode.UNKNOWN_DECISION: mark("There is no such decision any more."),
    RefusalCode.NOT_APPEALABLE: mark("The message was answered; there is nothing to appeal against."),
    RefusalCode.ALREADY_APPEALED: mark("There is an appeal against this decision already."),
    RefusalCode.UNUSABLE_TEXT: mark("Write 1 to 4000 characters."),
    RefusalCode.ALREADY_DECIDED: mark("The appeal has been decided already."),
    RefusalCode.ORIGINAL_REVIEWER: mark(
        "You took part in this decision: another person must decide the appeal."
    ),
}
"""Total; short enough for authors, and without names of accounts."""


def refusal_text(code: RefusalCode) -> str:
    """Why an appeal or an outcome is refused."""
    return gettext(REFUSALS[code])


FILTERS: Final = {
    "subject_kind": worded(SUBJECT_KINDS),
    "erasure_phase": lambda phase: gettext(ERASURE_PHASES.get(phase, RUNNING)),
    "appeal_outcome": worded(OUTCOMES),
    "appeal_source": worded(SOURCES),
}
"""Of templates."""
