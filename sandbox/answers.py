"""What the sandbox says: a greeting, a tool call, an extract with its citation, or that it does not know."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from sandbox.chat_request import ChatRequest
from sandbox.extractive import STOPWORDS, TOKEN, best_extract
from sandbox.faults import Fault, Kind
from sandbox.judge import as_schema, judgement

SEARCH_TOOL = "search_documents"
ESCALATE_TOOL = "escalate"

UNKNOWN = "I do not know: nothing in the documents I was given answers that."
GREETING = "Hello! How can I help you?"
WELCOME = "You are welcome. Is there anything else I can help you with?"
HANDED_OVER = "A colleague will take over from here."
REFUSAL = "I cannot help with that."
FLAGGED_REPLY = "You are an idiot, and I will kill you."
UNGROUNDED_REPLY = (
    "Yes, absolutely. Every order has carried a lifetime guarantee since 1987, travels by private jet "
    "within two hours and is refunded at 300 percent, no questions asked."
)

WRONG_TEXTS: Mapping[Kind, str] = {Kind.FLAGGED: FLAGGED_REPLY, Kind.UNGROUNDED: UNGROUNDED_REPLY}

GREETINGS = "hello hi hey good morning afternoon evening day greetings howdy hola bonjour hallo"
GREETING_WORDS = frozenset(GREETINGS.split())
THANKS = "thanks thank thx cheers great ok okay perfect merci gracias danke bye goodbye much"
THANKS_WORDS = frozenset(THANKS.split())
FILLERS = frozenset({"lot", "very", "help", "all", "again"})
MOST_SMALL_TALK_WORDS = 6

WANTS_HUMAN = re.compile(
    r"\b(?:speak|talk|chat|connect|transfer|put|get)\b[^.?!]{0,40}"
    r"\b(?:human|person|agent|representative|manager|supervisor|operator|someone real)\b"
    r"|\b(?:real|live|actual) (?:human|person|agent)\b|\bhuman (?:please|agent|being|support)\b"
    r"|\brefund dispute\b|\bdisput\w+\b[^.?!]{0,30}\b(?:refund|charge|payment)\b|\bchargeback\b"
    r"|\b(?:lawyer|legal action|sue you)\b|\A\W*(?:agent|human|representative|operator)\W*\Z",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What goes into the completion: text, a tool call or a refusal.

    Attributes:
        outcome: the word it is counted under.
        tool: name of the tool to call, or empty.
        arguments: JSON text of the tool call's arguments.
    """

    outcome: str
    text: str = ""
    tool: str = ""
    arguments: str = ""
    refusal: str = ""


def answer(request: ChatRequest, fault: Fault | None) -> Answer:
    """The answer to a request, or the wrong answer that a fault asks for."""
    return _honest_answer(request) if fault is None else _wrong_answer(request, fault)


def _wrong_answer(request: ChatRequest, fault: Fault) -> Answer:
    outcome = fault.outcome
    match fault.kind:
        case Kind.REFUSAL:
            return Answer(outcome=outcome, refusal=REFUSAL)
        case Kind.BAD_TOOL:
            tool = request.tools[0] if request.tools else SEARCH_TOOL
            return Answer(outcome=outcome, tool=tool, arguments='{"query": "unfinished')
        case Kind.TOOL_LOOP:
            return Answer(
                outcome=outcome, tool=SEARCH_TOOL, arguments=_json({"query": request.question[:500]})
            )
        case Kind.KEYWORD:
            honest = _honest_answer(request)
            return honest if honest.tool else Answer(outcome=outcome, text=f"{honest.text} {fault.value}")
        case Kind.SCORE:
            return Answer(outcome=outcome, text=_verdict(request, float(fault.value)))
        case _:  # Kind.EMPTY has no text; the other kinds never get as far as an answer
            return Answer(outcome=outcome, text=WRONG_TEXTS.get(fault.kind, ""))


def _honest_answer(request: ChatRequest) -> Answer:
    if request.judge is not None:
        return Answer(outcome="judged", text=_verdict(request))
    tool_call = _tool_call(request)
    if tool_call is not None:
        return tool_call
    found = _text_answer(request)
    if request.schema is None:
        return found
    body = {"answer": found.text, "score": float(found.outcome == "answered"), "reason": found.outcome}
    return Answer(outcome=found.outcome, text=_json(as_schema(body, request.schema)))


def _verdict(request: ChatRequest, score: float | None = None) -> str:
    return _json(as_schema(judgement(request.judge or "", score), request.schema))


def _tool_call(request: ChatRequest) -> Answer | None:
    """The tool to ask for before answering, each at most once per question."""
    open_tools = [tool for tool in request.tools if tool not in request.tools_used]
    if request.forced_tool in open_tools:
        return _call(request.forced_tool or "", request.question)
    if ESCALATE_TOOL in open_tools and WANTS_HUMAN.search(request.question):
        return _call(ESCALATE_TOOL, request.question)
    if SEARCH_TOOL not in open_tools or _small_talk(request.question) or WANTS_HUMAN.search(request.question):
        return None
    return None if best_extract(request.question, request.passages) else _call(SEARCH_TOOL, request.question)


def _call(tool: str, question: str) -> Answer:
    if tool == ESCALATE_TOOL:
        arguments = {"reason": f"The author asks for a person: {question[:200]}"}
    else:
        arguments = {"query": question[:500]}
    return Answer(outcome=f"tool:{tool}", tool=tool, arguments=_json(arguments))


def _text_answer(request: ChatRequest) -> Answer:
    if ESCALATE_TOOL in request.tools_used:
        return Answer(outcome="handed_over", text=HANDED_OVER)
    small_talk = _small_talk(request.question)
    if small_talk:
        return Answer(outcome="greeted", text=small_talk)
    extract = best_extract(request.question, request.passages)
    if extract is None:
        return Answer(outcome="unknown", text=UNKNOWN)
    return Answer(outcome="answered", text=f"{extract.text} [{extract.number}]")


def _small_talk(question: str) -> str | None:
    """The short answer to a bare greeting or thanks, or None when the text says more than that."""
    words = TOKEN.findall(question.casefold())
    if not words or len(words) > MOST_SMALL_TALK_WORDS:
        return None
    said = set(words)
    if not said <= GREETING_WORDS | THANKS_WORDS | FILLERS | STOPWORDS:
        return None
    if said & THANKS_WORDS:
        return WELCOME
    return GREETING if said & GREETING_WORDS else None


def _json(value: object) -> str:
    return orjson.dumps(value).decode()
