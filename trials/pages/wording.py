"""Words of the page Learn: groups of decisions, kinds, states and steps of trials."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from review.languages import mark
from trials.pure.replay.difference import DifferenceKind
from trials.pure.replay.groups import ReplayState, SkippedGroup
from trials.pure.trial import StepKind, TrialKind, TrialState
from worker.account_settings import SETTINGS

TITLES: Final[Mapping[str, str]] = {
    DifferenceKind.NEWLY_STOPPED: mark("Newly stopped"),
    DifferenceKind.NEWLY_RELEASED: mark("Newly released"),
    DifferenceKind.OTHER_REPLY: mark("Other reply"),
    DifferenceKind.OTHER_ENDING: mark("Other reason"),
    DifferenceKind.UNCHANGED: mark("Unchanged"),
    ReplayState.NEEDS_ANSWERS: mark("Needs the model"),
    ReplayState.NOT_RECORDED: mark("Not recorded"),
    ReplayState.ERASED: mark("Erased"),
    SkippedGroup.DROPPED: mark("Left out: too old"),
    SkippedGroup.OVER_BUDGET: mark("Left out: the day’s number is used up"),
    ReplayState.UNREADABLE: mark("Recording cannot be read"),
    ReplayState.NO_SETTINGS: mark("Settings no longer stored"),
    ReplayState.FAILED: mark("Cannot be made again"),
}
"""Total over the groups; the differences first, as tables show them."""
NOT_MADE: Final[Mapping[str, str]] = {
    ReplayState.ERASED: mark("The author's data was erased."),
    ReplayState.NOT_RECORDED: mark("The decision has no recording, or not any more."),
    ReplayState.UNREADABLE: mark("Its recording cannot be read."),
    ReplayState.NO_SETTINGS: mark("The settings that decided it are no longer stored."),
    ReplayState.NEEDS_ANSWERS: mark("A model or the documents would have to be asked something new."),
    ReplayState.FAILED: mark("These settings could not decide it."),
}
"""Why a decision was not made again; total but for decisions that were."""


def setting_titles(changes: Mapping[str, Any]) -> tuple[str, ...]:
    """The titles of changed settings."""
    return tuple(SETTINGS[name].title if name in SETTINGS else name for name in changes)


MEANINGS: Final[Mapping[str, str]] = {
    **NOT_MADE,
    DifferenceKind.NEWLY_STOPPED: mark("Got a reply, and would get none."),
    DifferenceKind.NEWLY_RELEASED: mark("Got no reply, and would get one."),
    DifferenceKind.OTHER_REPLY: mark("Would get a reply with another text."),
    DifferenceKind.OTHER_ENDING: mark("The same reply or none, for another reason or rule."),
    DifferenceKind.UNCHANGED: mark("The same reply or none, for the same reason."),
}
"""Total over the groups of a backtest."""
KINDS: Final[Mapping[str, str]] = {
    TrialKind.BACKTEST: mark("Backtest"),
    TrialKind.EVALUATION: mark("Evaluation"),
    TrialKind.SHADOW: mark("Shadow"),
    TrialKind.ROLLOUT: mark("Rollout"),
}
"""Total."""
STATES: Final[Mapping[str, str]] = {
    TrialState.RUNNING: mark("running"),
    TrialState.FINISHED: mark("finished"),
    TrialState.RETURNED: mark("returned to the settings in force"),
    TrialState.STOPPED: mark("stopped"),
    TrialState.FAILED: mark("switched off"),
}
"""Total."""
STATE_BADGES: Final[Mapping[str, str]] = {
    TrialState.RUNNING: "info",
    TrialState.FINISHED: "good",
    TrialState.RETURNED: "warn",
    TrialState.STOPPED: "",
    TrialState.FAILED: "bad",
}
"""Total."""
STEPS: Final[Mapping[str, str]] = {
    StepKind.START: mark("started"),
    StepKind.SHARE: mark("other share"),
    StepKind.RETURN: mark("returned"),
    StepKind.FINISH: mark("finished"),
    StepKind.STOP: mark("stopped"),
    StepKind.FAIL: mark("switched off"),
}
"""Total."""
