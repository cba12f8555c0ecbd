"""The OpenAI SDK by hand: one client, a compiled expression for the keywords, one call after the other."""

from __future__ import annotations

import re

from openai import AsyncOpenAI

from bench.peers.client import MODEL, MODERATION_MODEL, Answer, BlockedError, Task, run


def make_answer(task: Task) -> Answer:
    """Check the message, ask the model, check the reply."""
    client = AsyncOpenAI(base_url=task.base_url, api_key="none")
    keywords = re.compile(rf"\b(?:{'|'.join(map(re.escape, task.keywords))})\b", re.IGNORECASE)

    async def check(text: str) -> None:
        moderated = await client.moderations.create(model=MODERATION_MODEL, input=text)
        if keywords.search(text) or moderated.results[0].flagged:
            raise BlockedError(text)

    async def answer(message: str) -> str:
        await check(message)
        completion = await client.chat.completions.create(
            model=MODEL,
            messages=[
                {"role": "system", "content": task.instructions},
                {"role": "user", "content": message},
            ],
        )
        reply = completion.choices[0].message.content or ""
        await check(reply)
        if task.judged:
            await client.chat.completions.create(
                model=MODEL,
                messages=[
                    {"role": "system", "content": "Does the answer fit the question? Say yes or no."},
                    {"role": "user", "content": f"Question: {message}\nAnswer: {reply}"},
                ],
            )
        return reply

    return answer


if __name__ == "__main__":
    run(make_answer)
