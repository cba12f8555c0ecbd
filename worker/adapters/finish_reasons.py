"""Whether a completion is whole: what the server says of its end, and what its text shows."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

import orjson


class FinishKind(StrEnum):
    """How a completion ended. ``UNSAID``: the server does not say, so that the text decides."""

    WHOLE = "whole"
    UNSAID = "unsaid"
    CUT = "cut"
    FILTERED = "filtered"
    FAILED = "failed"


WHOLE: Final = frozenset(
    [
        "stop",
        "end_turn",
        "stop_sequence",
        "stop_str",
        "eos",
        "eos_token",
        "eos_found",
        "stop_token",
        "complete",
        "completed",
        "complete_message",
        "done",
        "finished",
        "end",
        "natural",
        "success",
        "tool_calls",
        "tool_call",
        "function_call",
        "function_calls",
        "tool_use",
        "normal",
        "end_of_text",
        "eot",
        "eos_token_id",
        "end_id",
        "stop_word",
        "stop_words",
        "stop_string_found",
        "word",
        "final",
    ]
)
UNSAID: Final = frozenset({"", "none", "null", "unknown", "unspecified"})
CUT: Final = frozenset(
    [
        "length",
        "max_tokens",
        "max_length",
        "model_length",
        "max_output_tokens",
        "max_completion_tokens",
        "token_limit",
        "limit",
        "max_new_tokens",
        "truncated",
        "incomplete",
        "not_finished",
        "model_context_window_exceeded",
        "context_length",
        "context_window_exceeded",
        "time_limit",
        "timeout",
        "pause_turn",
        "maximum_tokens",
        "max_len",
        "max_tokens_reached",
        "limit_reached",
        "context_length_reached",
        "max_predicted_tokens_reached",
        "timed_out",
    ]
)
FILTERED: Final = frozenset(
    [
        "content_filter",
        "content_filtered",
        "safety",
        "recitation",
        "prohibited_content",
        "blocklist",
        "spii",
        "image_safety",
        "image_recitation",
        "image_prohibited_content",
        "model_armor",
        "blacklist",
        "unsafe",
        "content_moderation",
        "data_inspection_failed",
        "guardrail_intervened",
        "guardrails",
        "refusal",
        "sensitive",
        "moderation",
        "moderated",
        "error_toxic",
        "blocked",
        "language",
        "content_blocked",
        "moderation_blocked",
        "policy_violation",
    ]
)
"""All other words, such as ``error`` or ``insufficient_system_resource``, are a failed attempt."""

END_CHARS: Final = 1000
"""Characters at the end of a text that are searched for its end: bounded, because the search is quadratic."""
CITED: Final = re.compile(r"(?:\s*\[\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*\])+\s*$")
CLOSING: Final = "\"'”’»«›“)]}*_`~|>】」』）"
OPEN_END: Final = re.compile(
    r"(?:[,;:([{/&+=„«、，：；（\-–—]|\b(?:e\.g|i\.e|z\.b|bzw|incl)\.)\s*$", re.IGNORECASE
)
OPEN_END_CHARS: Final = 10
"""More than the longest open end, which a search of the whole text would look for at every character."""
SMILEY: Final = re.compile(r"(?:[:;=8xX]['’-]?[()\[\]{}/\\|*DPpOo3<>cC]+|<3|\^[_.-]?\^)\s*$")
ADDRESS: Final = re.compile(r"(?:https?://|www\.|[\w.+-]+@)\S+$")
UNPUNCTUATED: Final = re.compile(r"[\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF]")
"""Thai, Lao, Burmese and Khmer end a sentence without a mark, or often so."""
UNSPACED: Final = re.compile(r"[\u3040-\u30FF\u3400-\u9FFF]")
FEW_WORDS: Final = 4
FEW_CHARS: Final = 10
"""A shorter text, such as a greeting, needs no end mark."""


def finish_kind(reason: object) -> FinishKind:
    """The kind of a finish reason, in the words of any vendor."""
    said = reason.get("type") if isinstance(reason, Mapping) else reason
    words = re.sub(r"[\s_.-]+", "", str("" if said is None else said).lower())
    for word in words.split(":"):  # such as content_filter: PROHIBITED_CONTENT
        if (kind := KINDS.get(PREFIX.sub("", word))) is not None:
            return kind
    return FinishKind.FAILED


PREFIX: Final = re.compile(r"^(?:(?:finish|stop)?reason|alternativestatus)")
KINDS: Final = {
    word.replace("_", ""): kind
    for kind, words in (
        (FinishKind.WHOLE, WHOLE),
        (FinishKind.UNSAID, UNSAID),
        (FinishKind.CUT, CUT),
        (FinishKind.FILTERED, FILTERED),
    )
    for word in words
}


def is_cut_short(text: str, *, is_suspected: bool) -> bool:
    """Whether a text stops before its end.

    Args:
        text: without protocol.
        is_suspected: nothing says that it is whole; then a last sentence without an end mark counts too.
    """
    whole = text.rstrip()
    end = whole[-END_CHARS:]
    if end.endswith("]"):
        end = CITED.sub("", end)
    plain = whole[:-END_CHARS] + end
    if not plain or _is_json(plain) or SMILEY.search(end):
        return False
    if OPEN_END.search(end, max(0, len(end) - OPEN_END_CHARS)) or plain.count("```") % 2:
        return True
    return is_suspected and _is_sentence(plain) and not _has_end(end)


def _is_sentence(text: str) -> bool:
    return len(text.split()) >= FEW_WORDS or (UNSPACED.search(text) is not None and len(text) >= FEW_CHARS)


def _has_end(text: str) -> bool:
    bare = text.rstrip(CLOSING)
    if not bare or ADDRESS.search(text):
        return True
    last = bare[-1]
    return not last.isalnum() or UNPUNCTUATED.match(last) is not None or unicodedata.category(last) == "So"


def _is_json(text: str) -> bool:
    try:
        orjson.loads(text.removeprefix("```json").strip("` \n"))
    except orjson.JSONDecodeError:
        return False
    return True
