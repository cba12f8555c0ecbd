"""Runs a library's client in its own process and virtual environment; imports the standard library only.

A client reads one line of JSON (``Task``), warms up, prints ``ready``, waits for a line, answers all messages
and prints how many it answered. The parent measures its CPU between ``ready`` and the last line.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

MODEL = "openai/gpt-4.1-mini"
MODERATION_MODEL = "omni-moderation-latest"

Answer: TypeAlias = Callable[[str], Awaitable[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a client has to do.

    Attributes:
        base_url: of the stub server, for moderation and completion.
        concurrency: messages at once.
        judged: whether a model is asked about each reply too, as Hushgate's judge does.
    """

    base_url: str
    instructions: str
    keywords: list[str]
    warm_up: list[str]
    messages: list[str]
    concurrency: int
    judged: bool = False


class BlockedError(RuntimeError):
    """A keyword or moderation stopped a message, which must not happen with these messages."""


def run(make_answer: Callable[[Task], Answer]) -> None:
    """Serve one task from standard input."""
    replies, sys.stdout = sys.stdout, sys.stderr  # what a library prints does not mix with the replies
    task = Task(**json.loads(sys.stdin.readline()))

    async def serve() -> None:
        answer = make_answer(task)
        await _answer_all(answer, task.warm_up, task.concurrency)
        print("ready", file=replies, flush=True)
        sys.stdin.readline()
        answered = await _answer_all(answer, task.messages, task.concurrency)
        print(json.dumps({"answered": answered}), file=replies, flush=True)
        sys.stdin.readline()

    asyncio.run(serve())


async def _answer_all(answer: Answer, messages: Iterable[str], concurrency: int) -> int:
    waiting = iter(messages)

    async def work() -> int:
        answered = 0
        for message in waiting:
            answered += bool(await answer(message))
        return answered

    return sum(await asyncio.gather(*(work() for _ in range(concurrency))))
