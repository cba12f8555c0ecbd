"""What a server does not take of a request, learnt from its refusals by asking once without it."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from typing import Any, Final

import structlog

from worker.adapters.api_errors import ApiStatusError
from worker.adapters.chat_messages import (
    ChatTurn,
    with_contents,
    with_reasoning,
    without_system,
    without_tools,
)
from worker.adapters.error_bodies import error_words
from worker.adapters.vendor_failures import failure
from worker.adapters.vendor_words import one_of
from worker.model import AttemptOutcome

log = structlog.get_logger(__name__)

RequestBody = Mapping[str, Any]
Post = Callable[[RequestBody], Awaitable[Any]]


class Lack(StrEnum):
    """A part of a request that a server refuses, in the order in which parts are left out."""

    MAX_TOKENS = "max_tokens"
    TEMPERATURE = "temperature"
    LOGPROBS = "logprobs"
    SCHEMA = "response_format"
    TOOL_CHOICE = "tool_choice"
    EFFORT = "reasoning beside tools"
    REASONING = "lines without reasoning"
    SIGNATURES = "calls without signatures"
    SYSTEM = "system messages"
    TOOLS = "tools"
    ONE_PIECE = "answers in one piece"
    CONTENT = "messages without content"


REMEMBERED_S: Final = 3600.0
"""How long a refusal is remembered: the server may have been changed."""
OF_A_MOMENT: Final = frozenset({AttemptOutcome.UNFINISHED, AttemptOutcome.RATE_LIMITED})
REFUSING: Final = frozenset({400, 404, 405, 415, 422, 500, 501})
NOT_TAKEN: Final = one_of(
    r"support|unrecognized|unknown|unexpected|extra|invalid|deprecated|disabled",
    r"not (?:permitted|allowed|available|implemented)|cannot|can't",
    r"must|require|expect|only|missing|null|none|empty|alternat",
    r"template|jinja|max_completion_tokens|max allowed",
)
AMOUNT: Final = one_of(
    r"too (?:large|high|big|many)|at (?:most|least)|greater than|less than|exceed|context",
    r"maximum (?:allowed )?value",
)
"""A value is refused, not the field."""
WORDS: Final[Mapping[Lack, re.Pattern[str]]] = {
    Lack.MAX_TOKENS: one_of(r"max_tokens"),
    Lack.TEMPERATURE: one_of(r"temperature"),
    Lack.LOGPROBS: one_of(r"log_?probs"),
    Lack.SCHEMA: one_of(
        r"response_?(?:format|schema|mime)",
        r"json_?(?:schema|object)",
        r"structured[ _]outputs?",
        r"guided|grammar",
    ),
    Lack.TOOL_CHOICE: one_of(r"tool[_ ]?choice"),
    Lack.EFFORT: one_of(r"set reasoning_effort to 'none'"),
    Lack.REASONING: one_of(r"reasoning_content"),
    Lack.SIGNATURES: one_of(r"thought_?signature"),
    Lack.SYSTEM: one_of(
        r"system.{0,40}(?:role|messages?|instructions?|prompt)",
        r"roles?.{0,30}system",
        r"developer instruction",
        r"only user and assistant roles",
        r"must alternate",
    ),
    Lack.TOOLS: one_of(r"tool", r"function.?call", r"must alternate", r"roles? .{0,30}supported"),
    Lack.ONE_PIECE: one_of(
        r"only.{0,30}\bstream", r"non-?stream", r"enable.{0,20}\bstream", r"\bstream.{0,40}\b(?:must|require)"
    ),
    Lack.CONTENT: one_of(r"content"),
}


class Dialect:
    """What one server, for one model, does not take.

    Args:
        model: for the log.
    """

    def __init__(self, model: str) -> None:
        self._model = model
        self._lacks: frozenset[Lack] = frozenset()
        self._until_s = 0.0

    @property
    def lacks(self) -> frozenset[Lack]:
        """What is left out now."""
        return self._lacks if time.monotonic() < self._until_s else frozenset()

    async def ask(self, body: RequestBody, post: Post) -> Any:
        """The answer to a body, without what the server refuses; what helped is remembered.

        Raises:
            ApiError, TimeoutError, ValueError: as ``post``.
        """
        lacks = self.lacks
        while True:
            try:
                answer = await post(adapted(body, lacks))
            except ApiStatusError as error:
                lack = refused_part(error, adapted(body, lacks), lacks)
                if lack is None:
                    raise
                lacks |= {lack}
                continue
            self._remember(lacks)
            return answer

    def _remember(self, lacks: frozenset[Lack]) -> None:
        new = lacks - self.lacks
        if new:
            self._lacks, self._until_s = lacks, time.monotonic() + REMEMBERED_S
            log.info("server_asked_without", model=self._model, parts=sorted(map(str, new)))


def refused_part(error: ApiStatusError, body: RequestBody, lacks: frozenset[Lack]) -> Lack | None:
    """The part of a request that a server may refuse, or None when the refusal has another cause."""
    if error.status not in REFUSING:
        return None
    known = failure(error)
    if known is None or known.is_too_long or known.cause in {"key", "quota"} or known.kind in OF_A_MOMENT:
        return None
    words, parts = error_words(error), [each for each in Lack if each not in lacks and _has(body, each)]
    if NOT_TAKEN.search(words):
        for part in parts:
            if WORDS[part].search(words) and not (part is Lack.MAX_TOKENS and AMOUNT.search(words)):
                return part
    may_be_schema = error.status == 400 and known.kind is AttemptOutcome.REJECTED
    return Lack.SCHEMA if may_be_schema and Lack.SCHEMA in parts else None


def adapted(body: RequestBody, lacks: frozenset[Lack]) -> RequestBody:
    """The body without what a server lacks."""
    if not lacks:
        return body
    left_out = {name for each in lacks for name in LEFT_OUT.get(each, ())}
    found = {name: value for name, value in body.items() if name not in left_out}
    if Lack.MAX_TOKENS in lacks and "max_tokens" in body:
        found["max_completion_tokens"] = body["max_tokens"]
    if Lack.ONE_PIECE in lacks:
        found |= {"stream": True, "stream_options": {"include_usage": True}}
    if Lack.EFFORT in lacks and "tools" in found:
        found["reasoning_effort"] = "none"
    for lack, rewritten in REWRITES.items():
        if lack in lacks:
            found["messages"] = rewritten(found["messages"])
    return found


LEFT_OUT: Final[Mapping[Lack, tuple[str, ...]]] = {
    Lack.MAX_TOKENS: ("max_tokens",),
    Lack.TEMPERATURE: ("temperature",),
    Lack.LOGPROBS: ("logprobs", "top_logprobs"),
    Lack.SCHEMA: ("response_format",),
    Lack.TOOL_CHOICE: ("tool_choice",),
    Lack.TOOLS: ("tools", "tool_choice"),
}
REWRITES: Final[Mapping[Lack, Callable[[list[ChatTurn]], list[ChatTurn]]]] = {
    Lack.TOOLS: without_tools,
    Lack.SIGNATURES: without_tools,
    Lack.REASONING: with_reasoning,
    Lack.SYSTEM: without_system,
    Lack.CONTENT: with_contents,
}


def _has(body: RequestBody, part: Lack) -> bool:
    """Whether a body has a part."""
    messages = body.get("messages", ())
    match part:
        case Lack.SYSTEM | Lack.REASONING:
            role = "system" if part is Lack.SYSTEM else "assistant"
            return any(each["role"] == role for each in messages)
        case Lack.EFFORT | Lack.TOOLS:
            return "tools" in body or any(each.get("tool_calls") for each in messages)
        case Lack.SIGNATURES:
            return any(each.get("tool_calls") for each in messages)
        case Lack.ONE_PIECE:
            return body.get("stream") is False
        case Lack.CONTENT:
            return any("content" not in each for each in messages)
        case _:
            return any(name in body for name in LEFT_OUT[part])
