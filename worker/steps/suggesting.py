"""Questions that the documents can answer, after a text that refuses one they cannot."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from worker.assessment import SearchBounds
from worker.endings import Draft, Ending
from worker.model import Passage
from worker.reasons import Reason
from worker.reply_content import Sources, content_findings
from worker.steps import context
from worker.steps.assessing import text_of
from worker.steps.run import Run

MOST: Final = 3
SEARCH: Final = SearchBounds(documents=10, min_similarity=0.0)
SEPARATOR: Final = " › "
"""Between the title of a document and its headings, see ``worker.documents.chunking``."""

LONGEST: Final = 100
_FILE_NAME: Final = re.compile(r"\S+\.[A-Za-z0-9]{2,5}")
_NUMBERING: Final = re.compile(r"^\s*(?:\d+[.)]?)+\s+")
_WORD: Final = re.compile(r"[^\W\d_]{2}")


async def with_questions(run: Run, ending: Ending) -> Ending:
    """The ending; a fallback text is followed by headings of documents near the question.

    The headings are those of passages that may be shown: they have the labels of the event, no check flagged
    them, and no rule matches them. A model writes none of it.
    """
    delivery, assessment = run.case.delivery, ending.draft.assessment
    if ending.reason_code is not Reason.FALLBACK_SENT or not delivery.suggest_questions or assessment is None:
        return ending
    found = Draft(passages=context.with_right_labels(run, ending.draft).passages)
    if len(headings(found.passages)) < MOST:
        found = await context.retrieve(replace(run, search=SEARCH), run.case.event.text, found)
    shown = [each for each in headings(found.passages) if _may_be_shown(run, each)][:MOST]
    if not shown:
        return ending
    intro = text_of(run, delivery.suggestion_texts) or ""
    lines = "\n".join(f"- {each}" for each in shown)
    assessment = replace(
        assessment, diagnostics={**assessment.diagnostics, "suggested_questions": list(shown)}
    )
    draft = replace(ending.draft, assessment=assessment)
    return replace(ending, reply=f"{ending.reply}\n\n{intro}\n{lines}", draft=draft)


def _may_be_shown(run: Run, heading: str) -> bool:
    """Whether no rule matches a heading, and it has nothing that a reply must not have."""
    return not (run.case.rules.match(heading) or content_findings(heading, Sources()))


def headings(passages: Iterable[Passage]) -> list[str]:
    """The lowest heading of each passage, once each, in the order of the passages.

    A document without headings stands for itself by its title, unless that is the name of a file.
    """
    found: dict[str, str] = {}
    for passage in passages:
        text = " ".join(_NUMBERING.sub("", passage.title.rpartition(SEPARATOR)[2]).split())
        if _WORD.search(text) and not _FILE_NAME.fullmatch(text):
            found.setdefault(text.casefold(), text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…")
    return list(found.values())
