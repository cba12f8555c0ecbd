"""NeMo Guardrails: LLMRails with its rail for expressions, and moderation as an action of ours.

NeMo has no rail for OpenAI's moderation. The action uses one httpx client, the HTTP library of NeMo itself,
which costs less than the OpenAI SDK would.
"""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
from nemoguardrails import LLMRails, RailsConfig

from bench.peers.client import MODEL, MODERATION_MODEL, Answer, BlockedError, Task, run

REFUSAL = "I'm sorry, I can't respond to that."
FLOWS = """
define subflow moderation check input
  $flagged = execute moderate(text=$user_message)
  if $flagged
    bot refuse to respond
    stop

define subflow moderation check output
  $flagged = execute moderate(text=$bot_message)
  if $flagged
    bot refuse to respond
    stop
"""


def make_answer(task: Task) -> Answer:
    """The rails refuse with a fixed text."""
    config = rails_with(
        task,
        input_flows=["regex check input", "moderation check input"],
        output_flows=["regex check output", "moderation check output"],
    )
    content = RailsConfig.from_content(colang_content=FLOWS, yaml_content=json.dumps(config))
    rails: Any = LLMRails(content)
    client = httpx.AsyncClient(base_url=task.base_url)

    async def moderate(text: str) -> bool:
        return await is_flagged(client, text)

    rails.register_action(moderate, "moderate")

    async def answer(message: str) -> str:
        reply = await rails.generate_async(messages=[{"role": "user", "content": message}])
        if reply["content"] == REFUSAL:
            raise BlockedError(message)
        return str(reply["content"])

    return answer


async def is_flagged(client: httpx.AsyncClient, text: str) -> bool:
    """Whether moderation flags the text."""
    response = await client.post("/moderations", json={"model": MODERATION_MODEL, "input": text})
    response.raise_for_status()
    return bool(response.json()["results"][0]["flagged"])


def rails_with(task: Task, *, input_flows: list[str], output_flows: list[str]) -> dict[str, Any]:
    """The configuration with these rails; JSON is YAML too."""
    patterns = {
        "patterns": [rf"\b{re.escape(word)}\b" for word in task.keywords],
        "case_insensitive": True,
    }
    parameters = {"base_url": task.base_url, "api_key": "none"}
    return {
        "models": [{"type": "main", "engine": "openai", "model": MODEL, "parameters": parameters}],
        "instructions": [{"type": "general", "content": task.instructions}],
        "rails": {
            "config": {"regex_detection": {"input": patterns, "output": patterns}},
            "input": {"flows": input_flows},
            "output": {"flows": output_flows},
        },
    }


if __name__ == "__main__":
    run(make_answer)
