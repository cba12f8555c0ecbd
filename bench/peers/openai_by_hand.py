"""The OpenAI SDK by hand: one client, a compiled expression for the keywords, one call after the other.

The judge's answer is read as JSON and not weighed: what to do with it is each program's own.
"""

from __future__ import annotations

import json
import re

from openai import AsyncOpenAI

from bench.peers.client import MODEL, MODERATION_MODEL, Answer, BlockedError, Task, run

JUDGE = "HUSHGATE-JUDGE: reading"
"""What the stub server knows a judge's request by."""


def make_answer(task: Task) -> Answer:
    """Check the message, ask the model, check the reply."""
    client = AsyncOpenAI(base_url=task.base_url, api_key="none")
    keywords = re.compile(rf"\b(?:{'|'.join(map(re.escape, task.keywords))})\b", re.IGNORECASE)

    async def check(text: str) -> None:
        moderated = await client.moderations.create(model=MODERATION_MODEL, input=text)
        if keywords.search(text) or moderated.results[0].flagged:
            raise BlockedError(text)

    async def ask(instructions: str, text: str) -> str:
        completion = await client.chat.completions.create(
            model=MODEL,
            messages=[{"role": "system", "content": instructions}, {"role": "user", "content": text}],
        )
        return completion.choices[0].message.content or ""

    async def answer(message: str) -> str:
        await check(message)
        reply = await ask(task.instructions, message)
        await check(reply)
        if task.judged:
            json.loads(await ask(JUDGE, f"QUESTION:\n> {message}\nREPLY:\n> 1. {reply}\nEND:"))
        return reply

    return answer


if __name__ == "__main__":
    run(make_answer)
