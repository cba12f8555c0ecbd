"""A completion in any of the forms that servers give it, as our value.

Wanted are a text, a call of a tool or a refusal. Names and counts that only the audit needs may be missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from worker.adapters.finish_reasons import FinishKind, finish_kind, is_cut_short
from worker.adapters.model_protocol import KNOWN_TOOLS, calls_in, protocol_in, spoken
from worker.adapters.vendor_failures import MALFORMED, name_of, storable
from worker.errors import ModelUnavailable
from worker.model import AttemptOutcome, Completion, Tokens, ToolCall

MOST_TOOL_CALLS: Final = 5
MOST_TOKENS: Final = 2**31
MOST_CHARS: Final = 200_000
"""Longest text that is read: more than the most tokens that a worker asks for (32,768) hold."""
REFUSAL_CHARS: Final = 2_000
FILTERED: Final = "stopped by the vendor's content filter"
INVISIBLE: Final = "\ufeff\u200b\u2060"
SPOKEN_PARTS: Final = frozenset({"text", "output_text", ""})
TOOL_PREFIXES: Final = ("functions.", "default_api.", "tools.", "functions/")
TOOL_NUMBER: Final = re.compile(r":\d{1,4}\Z")
ARGUMENTS: Final = json.JSONDecoder(strict=False)
"""Reads the first value: some servers pass on what the model wrote behind it."""
ARGUMENT_KEYS: Final = ("arguments", "parameters", "args", "input")


def completion_of(document: Mapping[str, Any], *, model: str, max_tokens: int, has_tools: bool) -> Completion:
    """Our value of a server's answer.

    Args:
        document: the answer.
        model: asked for; for an answer that does not name one.
        max_tokens: asked for; an answer of that many is not whole, whatever the server says.
        has_tools: a call written as text is a call.

    Raises:
        ModelUnavailable: nothing that can be used; asking again may help.
    """
    try:
        choice = _choice(document)
        message = choice.get("message") or choice.get("delta") or choice.get("text")
        message = message if isinstance(message, Mapping) else {"content": message}
        text, refusal = _texts(message)
        calls = _tool_calls(message)
        tokens = token_counts(document.get("usage") or {})
        reason = _finish_reason(choice)
        named = name_of(document.get("model") or model)
    except MALFORMED as error:
        raise _unusable(f"malformed completion: {error}", AttemptOutcome.MALFORMED) from error
    kind = finish_kind(reason)
    if kind is FinishKind.FILTERED:
        text, calls, refusal = "", (), refusal or FILTERED
    if refusal is None:
        _require_end(kind, reason, max_tokens)
        text, calls = _usable(text, calls, has_tools=has_tools)
        if not calls:
            is_full = tokens.completion >= max_tokens
            if is_cut_short(text, is_suspected=kind is FinishKind.UNSAID or is_full):
                raise _unusable("unfinished completion: it stops in mid-sentence", AttemptOutcome.UNFINISHED)
    return Completion(
        text=text if refusal is None else "",
        model=named,
        tool_calls=calls,
        refusal=refusal,
        tokens=tokens,
        finish_reason=name_of(reason),
    )


def spoken_content(content: object) -> str:
    """The text of a message's content: a string, parts, or one part; thoughts and references left out."""
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, Mapping):
        return spoken_content(content.get("parts") or [content])
    if not isinstance(content, Sequence):
        raise TypeError(f"content: expected a text or parts, got {type(content).__name__}")
    return "".join(_part_texts(content))


def token_counts(usage: Mapping[str, Any]) -> Tokens:
    """What a call cost, as the server counted; zero for missing and impossible counts."""
    try:
        prompt = int(usage.get("prompt_tokens") or usage.get("input_tokens") or 0)
        completion = int(usage.get("completion_tokens") or usage.get("output_tokens") or 0)
    except MALFORMED:
        return Tokens()  # a count is no reason to lose a paid answer
    if not (0 <= prompt < MOST_TOKENS and 0 <= completion < MOST_TOKENS):
        return Tokens()
    return Tokens(prompt=prompt, completion=completion)


def _choice(document: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = document["choices"] or [_missing_choice(document)]
    choice, *others = choices if isinstance(choices, list) else [choices]
    if not isinstance(choice, Mapping):
        raise TypeError("a choice is no object")
    if choice.get("finish_reason") == "tool_calls" and not _has_calls(choice):
        return next(filter(_has_calls, others), choice)  # text and call in choices of their own
    return choice


def _has_calls(choice: Any) -> bool:
    message = choice.get("message") if isinstance(choice, Mapping) else None
    return isinstance(message, Mapping) and bool(message.get("tool_calls"))


def _missing_choice(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """What an answer without any choice stands for: a prompt that was filtered, or nothing."""
    results = (
        each.get("content_filter_results") or {} for each in document.get("prompt_filter_results") or ()
    )
    is_filtered = any(found.get("filtered") for each in results for found in each.values())
    return {"finish_reason": "content_filter" if is_filtered else None}


def _finish_reason(choice: Mapping[str, Any]) -> object:
    """The server's finish reason, or the vendor's where only that one says that a reply was cut."""
    said = choice.get("finish_reason") or choice.get("stop_reason") or choice.get("done_reason")
    native = choice.get("native_finish_reason")
    if native and finish_kind(native) in {FinishKind.CUT, FinishKind.FILTERED}:
        return native
    return said


def _texts(message: Mapping[str, Any]) -> tuple[str, str | None]:
    """The text and the refusal of a message."""
    content = message.get("content")
    refusal = message.get("refusal") or ""
    if not refusal and isinstance(content, list):
        refusal = "".join(
            str(part.get("refusal") or part.get("text") or "")
            for part in content
            if isinstance(part, Mapping) and part.get("type") == "refusal"
        )
    text = storable(spoken_content(content)).strip().strip(INVISIBLE)
    if len(text) > MOST_CHARS:
        raise ValueError(f"expected at most {MOST_CHARS} characters, got {len(text)}")
    if refusal and not isinstance(refusal, str):
        refusal = text or FILTERED  # some servers only say that it is one
    return text, storable(refusal[:REFUSAL_CHARS]).strip() or None


def _part_texts(parts: Sequence[object]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, str):
            yield part
        elif isinstance(part, list):
            yield from _part_texts(part)
        elif (
            isinstance(part, Mapping)
            and str(part.get("type") or "") in SPOKEN_PARTS
            and not part.get("thought")
        ):
            text = part.get("text")
            text = text.get("value") if isinstance(text, Mapping) else text
            if isinstance(text, str):
                yield text


def _tool_calls(message: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    asked = list(message.get("tool_calls") or ())
    if not asked and message.get("function_call"):
        asked = [{"function": message["function_call"]}]
    calls: list[ToolCall] = []
    for call in asked[:MOST_TOOL_CALLS]:
        function = call.get("function") or call
        arguments = next((function[key] for key in ARGUMENT_KEYS if key in function), None)
        made = _tool_call(call.get("id"), function.get("name"), arguments, len(calls))
        known = {each.call_id for each in calls}
        if made.call_id in known:
            made = _tool_call(None, made.name, dict(made.arguments), len(calls))
        calls.append(made)
    return tuple(calls)


def _tool_call(call_id: object, name: object, arguments: Any, number: int) -> ToolCall:
    """A call whose id may be missing: nine letters and digits, which every vendor takes back."""
    plain_name = TOOL_NUMBER.sub("", str(name).split("<|", 1)[0].strip())
    for prefix in TOOL_PREFIXES:
        plain_name = plain_name.removeprefix(prefix)
    if plain_name not in KNOWN_TOOLS:
        raise ValueError(f"unknown tool {storable(str(name))[:50]!r}")
    for _ in range(2):  # some servers encode the object twice
        if isinstance(arguments, str):
            arguments = ARGUMENTS.raw_decode(arguments.strip())[0] if arguments.strip() else {}
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        raise TypeError("tool arguments are not an object")
    if len(json.dumps(arguments)) > MOST_CHARS:
        raise ValueError(f"tool arguments: expected at most {MOST_CHARS} characters")
    plain = {key: storable(value) if isinstance(value, str) else value for key, value in arguments.items()}
    return ToolCall(
        call_id=name_of(call_id) if call_id else f"call{number + 1:05}",
        name=plain_name,
        arguments=plain,
    )


def _usable(text: str, calls: tuple[ToolCall, ...], *, has_tools: bool) -> tuple[str, tuple[ToolCall, ...]]:
    """The text without protocol and the calls; a text that is a call becomes one where tools were offered."""
    text = spoken(text)
    if calls:
        return "" if protocol_in(text) else text, calls
    if has_tools and (written := calls_in(text)):
        try:
            made = (_tool_call(None, *each, at) for at, each in enumerate(written[:MOST_TOOL_CALLS]))
            return "", tuple(made)
        except MALFORMED as error:
            raise _unusable(f"malformed completion: {error}", AttemptOutcome.MALFORMED) from error
    if not text:
        raise _unusable("empty completion", AttemptOutcome.EMPTY)
    if left := protocol_in(text):
        raise _unusable(f"the answer has {left}", AttemptOutcome.MALFORMED)
    return text, ()


def _require_end(kind: FinishKind, reason: object, max_tokens: int) -> None:
    said = f"finish_reason {str(reason)[:40]}"
    if kind is FinishKind.CUT:
        raise _unusable(f"unfinished completion: {said} (max_tokens {max_tokens})", AttemptOutcome.UNFINISHED)
    if kind is FinishKind.FAILED:
        raise _unusable(f"unfinished completion: {said}", AttemptOutcome.UNFINISHED)


def _unusable(message: str, kind: AttemptOutcome) -> ModelUnavailable:
    return ModelUnavailable(storable(message[:300]), kind=kind)
