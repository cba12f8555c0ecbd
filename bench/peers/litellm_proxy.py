"""LiteLLM: its proxy with its filter of words and its moderation, before the model and after it.

LiteLLM's guardrails are the proxy's. The proxy's application is called in this process, without its HTTP
server, which costs less than a proxy beside the caller.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import httpx

from bench.peers.client import MODEL, MODERATION_MODEL, Answer, Task, run

BOTH = ["pre_call", "post_call"]


def make_answer(task: Task) -> Answer:
    """The proxy answers 400 when a guardrail finds something, or fails."""
    starting = asyncio.ensure_future(_started(task))

    async def answer(message: str) -> str:
        client = await starting
        messages = [
            {"role": "system", "content": task.instructions},
            {"role": "user", "content": message},
        ]
        response = await client.post("/v1/chat/completions", json={"model": "peer", "messages": messages})
        response.raise_for_status()
        return str(response.json()["choices"][0]["message"]["content"] or "")

    return answer


async def _started(task: Task) -> httpx.AsyncClient:
    file = Path(tempfile.mkdtemp()) / "config.yaml"
    file.write_text(json.dumps(_configuration(task)))  # JSON is YAML too
    os.environ |= {"CONFIG_FILE_PATH": str(file), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    from litellm.proxy.proxy_server import app  # noqa: PLC0415  # reads the environment

    await app.router.lifespan_context(app).__aenter__()  # ends with the process
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://proxy")


def _configuration(task: Task) -> dict[str, Any]:
    server = {"api_base": task.base_url, "api_key": "none"}
    words = [{"keyword": word, "action": "BLOCK"} for word in task.keywords]
    checks: dict[str, dict[str, Any]] = {
        "keywords": {"guardrail": "litellm_content_filter", "blocked_words": words},
        "moderation": {"guardrail": "openai_moderation", "model": MODERATION_MODEL} | server,
    }
    return {
        "model_list": [{"model_name": "peer", "litellm_params": {"model": MODEL} | server}],
        "guardrails": [
            {"guardrail_name": name, "litellm_params": check | {"mode": BOTH, "default_on": True}}
            for name, check in checks.items()
        ],
        "general_settings": {"dangerously_permit_weak_or_unset_master_key": True},
    }


if __name__ == "__main__":
    run(make_answer)
