"""How the questions of the demo ended whose truth the sandbox knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from cli.assess.conversation_figures import sent_kind
from cli.demo import events
from cli.options import own_connections
from db.history.conversation_sets import load_endings
from sandbox.cases import DraftKind, Writes

OPTIONS: Final = ("--conversations", str(events.CASES))
"""Options of a sandbox that knows the demo's questions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFigures:
    """Drafts by what they were, and what became of them.

    Attributes:
        right: questions to which the model wrote the right answer.
        right_sent: of those, answered with it.
        wrong: questions to which it wrote an answer to another question, or an invented one.
        wrong_held: of those, without any reply.
    """

    right: int
    right_sent: int
    wrong: int
    wrong_held: int

    @property
    def sentence(self) -> str:
        """The figures for a person."""
        return (
            f"{self.right_sent} of {self.right} right answers were sent,"
            f" {self.wrong_held} of {self.wrong} wrong or invented ones were held back"
        )


async def answer_figures(database_url: str, run: str) -> AnswerFigures:
    """The figures of a run with the sandbox."""
    cases = events.case_events(run)
    async with own_connections(database_url) as source:
        endings = {each.event_id: each for each in await load_endings(source, run)}
    found = [(case, endings[event_id]) for event_id, case in cases.items() if event_id in endings]
    right = [(case, ending) for case, ending in found if case.writes in (None, Writes.RIGHT)]
    wrong = [ending for case, ending in found if case.writes in (Writes.WRONG, Writes.INVENTED)]
    return AnswerFigures(
        right=len(right),
        right_sent=sum(sent_kind(case, ending) is DraftKind.RIGHT for case, ending in right),
        wrong=len(wrong),
        wrong_held=sum(ending.reply is None for ending in wrong),
    )
