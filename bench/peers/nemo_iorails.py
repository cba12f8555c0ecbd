"""NeMo Guardrails' newer engine: ``Guardrails`` with ``IORails``, and moderation before and after it.

``IORails`` runs NeMo's own rails only, so moderation is called around it, with the client of ``nemo.py``. It
does not send the configuration's instructions, so the caller does.
"""

from __future__ import annotations

import json

import httpx
from nemoguardrails import Guardrails, RailsConfig

from bench.peers.client import Answer, BlockedError, Task, run
from bench.peers.nemo import REFUSAL, is_flagged, rails_with


def make_answer(task: Task) -> Answer:
    """The rails refuse with a fixed text."""
    config = rails_with(task, input_flows=["regex check input"], output_flows=["regex check output"])
    rails = Guardrails(RailsConfig.from_content(yaml_content=json.dumps(config)), require_iorails=True)
    client = httpx.AsyncClient(base_url=task.base_url)

    async def answer(message: str) -> str:
        if await is_flagged(client, message):
            raise BlockedError(message)
        asked = [
            {"role": "system", "content": task.instructions},
            {"role": "user", "content": message},
        ]
        reply = await rails.generate_async(messages=asked)
        if reply["content"] == REFUSAL or await is_flagged(client, reply["content"]):
            raise BlockedError(message)
        return str(reply["content"])

    return answer


if __name__ == "__main__":
    run(make_answer)
