"""Drafts of a model that knows the case of a question: the right answer, a neighbour's or an invented one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from sandbox.cases import Case, CaseFile, Writes, folded
from sandbox.replies.chat_request import ChatRequest
from sandbox.replies.extractive import NumberedPassage

SEARCH_TOOL = "search_documents"
ESCALATE_TOOL = "escalate"
UNKNOWN = "I do not know: nothing in the documents I was given answers that."


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownDraft:
    """A text, or a tool with its arguments as JSON; ``outcome`` is the word under which it is counted."""

    outcome: str
    text: str = ""
    tool: str = ""
    arguments: str = ""


def known_draft(cases: CaseFile, writes: Writes, request: ChatRequest) -> KnownDraft | None:
    """The draft for a request; None when its question is not of a case."""
    case = cases.find(request.question, request.earlier)
    if case is None:
        return None
    match case.writes or writes:
        case Writes.WRONG if case.wrong_answer:
            text = _cited(case.wrong_answer, case.wrong_probe, request.passages)
            return KnownDraft(outcome="wrong", text=text)
        case Writes.INVENTED if case.invented:
            return KnownDraft(outcome="invented", text=_cited(case.invented, case.probe, request.passages))
    return _right_draft(case, request)


def passage_with(probe: str | None, passages: Sequence[NumberedPassage]) -> NumberedPassage | None:
    """The first passage that contains the probe, apart from case, space and punctuation."""
    part = folded(probe or "")
    return next((each for each in passages if part and part in folded(f"{each.title} {each.text}")), None)


def _right_draft(case: Case, request: ChatRequest) -> KnownDraft:
    if passage := passage_with(case.probe, request.passages):
        return KnownDraft(outcome="right", text=f"{case.answer} [{passage.number}]")
    open_tools = [tool for tool in request.tools if tool not in request.tools_used]
    if SEARCH_TOOL in open_tools:
        return _call(SEARCH_TOOL, query=case.rewrite)
    if ESCALATE_TOOL in open_tools:
        return _call(ESCALATE_TOOL, reason="The documents do not answer the question.")
    return KnownDraft(outcome="unknown", text=UNKNOWN)


def _cited(text: str, probe: str | None, passages: Sequence[NumberedPassage]) -> str:
    """The text with the passage of its probe, else with the first one."""
    passage = passage_with(probe, passages)
    return f"{text} [{passage.number if passage else 1}]"


def _call(tool: str, **arguments: str) -> KnownDraft:
    return KnownDraft(outcome=f"tool:{tool}", tool=tool, arguments=orjson.dumps(arguments).decode())
