"""openai-guardrails: its client with its keyword filter and its moderation, before the model and after it."""

from __future__ import annotations

from typing import Any

from guardrails import GuardrailsAsyncOpenAI

from bench.peers.client import MODEL, Answer, Task, run


def make_answer(task: Task) -> Answer:
    """The client raises when a check finds something or fails."""
    client: Any = GuardrailsAsyncOpenAI(
        config={"version": 1, "pre_flight": _checks(task), "output": _checks(task)},
        raise_guardrail_errors=True,
        base_url=task.base_url,
        api_key="none",
    )

    async def answer(message: str) -> str:
        completion = await client.chat.completions.create(
            model=MODEL,
            messages=[
                {"role": "system", "content": task.instructions},
                {"role": "user", "content": message},
            ],
        )
        return completion.choices[0].message.content or ""

    return answer


def _checks(task: Task) -> dict[str, Any]:
    checks = [
        {"name": "Keyword Filter", "config": {"keywords": task.keywords}},
        {"name": "Moderation", "config": {}},
    ]
    return {"version": 1, "guardrails": checks}


if __name__ == "__main__":
    run(make_answer)
