"""A parsed chat request: the question, its passages, the tools on offer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sandbox.faults import without_markers
from sandbox.replies.classifier import ClassifierPrompt, classifier_prompt
from sandbox.replies.extractive import NumberedPassage, fenced_text, numbered_passages
from sandbox.routes import BadRequest, Route

JUDGE_LINE = "HUSHGATE-JUDGE:"
SYSTEM_ROLES = ("system", "developer")
ROLES = (*SYSTEM_ROLES, "user", "assistant", "tool")

ChatMessage: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """A chat request as the sandbox understands it.

    Attributes:
        about: the last user message as sent, with markers, or all text without one; the text to classify of
            a classifier's prompt. Calls are planned and counted under this text.
        question: the same without markers.
        earlier: texts of the user and the assistant before it, oldest first.
        passages: those of system messages, of the fence before the question and of tool results.
        tools: names of the tools on offer, in order; empty when ``tool_choice`` is ``none``.
        tools_used: names of the tools already called since the last user message.
        forced_tool: the tool that ``tool_choice`` requires, or None.
        judge: all text of a prompt with a ``HUSHGATE-JUDGE:`` line, else None.
        classifier: the prompt of a guard model, else None.
        logprobs: probabilities of tokens are asked for.
        schema: the JSON schema of ``response_format``, ``{}`` for any JSON object, None for free text.
        prompt_words: words in all messages: the approximation of prompt tokens.
    """

    about: str
    question: str
    earlier: tuple[str, ...] = ()
    passages: tuple[NumberedPassage, ...] = ()
    tools: tuple[str, ...] = ()
    tools_used: frozenset[str] = frozenset()
    forced_tool: str | None = None
    judge: str | None = None
    classifier: ClassifierPrompt | None = None
    logprobs: bool = False
    schema: Mapping[str, object] | None = None
    prompt_words: int = 0
    stream: bool = False
    stream_usage: bool = False

    @property
    def route(self) -> Route:
        """``judge`` or ``classifier`` for such a prompt, counted and failed separately from answers."""
        if self.classifier is not None:
            return Route.CLASSIFIER
        return Route.CHAT if self.judge is None else Route.JUDGE


def parse_chat(body: Mapping[str, object]) -> ChatRequest:
    """The request in a JSON body; BadRequest if the API would not accept ``model`` or ``messages``."""
    if not isinstance(body.get("model"), str):
        raise BadRequest("model: expected a string: you must provide a model", param="model")
    messages = _messages(body.get("messages"))
    texts = [_content(message) for message in messages]
    last_user = max((at for at, message in enumerate(messages) if message.get("role") == "user"), default=-1)
    whole = "\n\n".join(texts)
    classifier = classifier_prompt(
        str(body["model"]), [str(message.get("role")) for message in messages], texts
    )
    about = _after_passages(texts[last_user]) if last_user >= 0 else whole
    if classifier is not None:
        about = classifier.text
    stream_options = body.get("stream_options")
    return ChatRequest(
        about=about,
        question=without_markers(about),
        earlier=tuple(_earlier(messages, texts, last_user)),
        passages=tuple(_passages(messages, texts, last_user)),
        tools=() if body.get("tool_choice") == "none" else _tool_names(body.get("tools")),
        tools_used=frozenset(_tools_used(messages[last_user + 1 :])),
        forced_tool=_forced_tool(body.get("tool_choice")),
        judge=whole if any(line.startswith(JUDGE_LINE) for line in whole.splitlines()) else None,
        classifier=classifier,
        logprobs=body.get("logprobs") is True,
        schema=_schema(body.get("response_format")),
        prompt_words=sum(len(text.split()) for text in texts),
        stream=body.get("stream") is True,
        stream_usage=isinstance(stream_options, Mapping) and stream_options.get("include_usage") is True,
    )


def _messages(value: object) -> Sequence[ChatMessage]:
    if not isinstance(value, list) or not value or not all(isinstance(item, dict) for item in value):
        raise BadRequest("messages: expected a list of at least one message object", param="messages")
    for at, message in enumerate(value):
        if message.get("role") not in ROLES:
            raise BadRequest(
                f"messages[{at}].role: expected system, developer, user, assistant or tool, "
                f"got {message.get('role')!r}",
                param="messages",
            )
    return value


def _content(message: ChatMessage) -> str:
    """The text of a message whose content is a string, a list of parts or null."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        return "\n".join(part for part in parts if isinstance(part, str))
    return ""


def _earlier(messages: Sequence[ChatMessage], texts: Sequence[str], last_user: int) -> Iterator[str]:
    """The conversation before the question, without the fenced passages."""
    for at, message in enumerate(messages[: last_user + 1]):
        found = fenced_text(texts[at])
        text = "" if at == last_user else texts[at]
        if message.get("role") in ("user", "assistant") and (said := found.before if found else text):
            yield said


def _passages(
    messages: Sequence[ChatMessage], texts: Sequence[str], last_user: int
) -> Iterator[NumberedPassage]:
    """Passages of system messages, of a fence before the question, and of tool results after it."""
    for at, message in enumerate(messages):
        found = fenced_text(texts[at])
        fenced = at in (last_user - 1, last_user) and message.get("role") == "user" and found is not None
        if (
            message.get("role") in SYSTEM_ROLES
            or (message.get("role") == "tool" and at > last_user)
            or fenced
        ):
            yield from numbered_passages(texts[at] if found is None else found.inside)


def _after_passages(text: str) -> str:
    """The question of a message that begins with passages; an empty one leaves the whole message."""
    found = fenced_text(text)
    return found.after if found and found.after else text


def _tool_names(tools: object) -> tuple[str, ...]:
    functions = (
        [tool.get("function") for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    )
    return tuple(
        str(function["name"]) for function in functions if isinstance(function, dict) and "name" in function
    )


def _tools_used(messages: Sequence[ChatMessage]) -> Iterator[str]:
    for message in messages:
        calls = message.get("tool_calls")
        if isinstance(calls, list):
            yield from _tool_names(calls)


def _forced_tool(choice: object) -> str | None:
    function = choice.get("function") if isinstance(choice, dict) else None
    return str(function["name"]) if isinstance(function, dict) and "name" in function else None


def _schema(response_format: object) -> Mapping[str, object] | None:
    if not isinstance(response_format, dict) or response_format.get("type") == "text":
        return None
    wrapper = response_format.get("json_schema")
    schema = wrapper.get("schema") if isinstance(wrapper, dict) else None
    return schema if isinstance(schema, dict) else {}
