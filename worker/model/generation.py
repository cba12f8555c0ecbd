"""What a language model is asked and what it answers, in the words of no vendor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from worker.model.event import Json, Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool that a model may call, with one text argument.

    Attributes:
        description: what the tool does, for the model.
        argument: name of the argument.
        meaning: what the argument says, for the model.
    """

    name: str
    description: str
    argument: str
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool the model asks us to run; ``arguments`` is its parsed JSON object."""

    call_id: str
    name: str
    arguments: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The result of a tool, as text for the model."""

    call_id: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRound:
    """One request of the model for tools, with our answers, in the same order."""

    calls: tuple[ToolCall, ...]
    results: tuple[ToolResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """Everything that is sent to a model, independent of the vendor.

    Attributes:
        system: the instructions; nothing in it comes from a document or an author.
        history: earlier lines of the conversation, oldest first.
        question: the event's text.
        passages: the passages as delimited data, sent as a user's message before the question; may be empty.
        fence: the word that delimits passages, here and in results of tools; the system message names it.
        tool_rounds: the tool calls of this event so far, with their results.
        tools: tools that the model may call, or has called: servers refuse results of undeclared tools.
        must_answer: the model may call no tool in this round.
        schema: a JSON schema that the answer must fit; servers without the feature are asked without it.
    """

    system: str
    history: tuple[Message, ...]
    question: str
    passages: str = ""
    fence: str = ""
    tool_rounds: tuple[ToolRound, ...] = ()
    tools: tuple[Tool, ...] = ()
    must_answer: bool = False
    schema: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """The cost of a call, in tokens."""

    prompt: int = 0
    completion: int = 0

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(prompt=self.prompt + other.prompt, completion=self.completion + other.completion)


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """The answer of a model: text, tool calls or a refusal, at least one of them."""

    text: str
    model: str
    tool_calls: tuple[ToolCall, ...] = ()
    refusal: str | None = None
    tokens: Tokens = Tokens()
    finish_reason: str = "stop"
