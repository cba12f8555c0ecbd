"""The examples of checks and the block of their page, against a gateway that is a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from cli.stack import Stack
from db.people.api_tokens import TokenScope
from sandbox.server import SandboxHandle
from tests.integration.test_gateway_process import serving
from tests.support.node_receiver import NODE
from tests.support.publishing import token
from tests.support.running import OPEN, store_account
from worker.account_settings import changed
from worker.model import Account

ROOT: Final = Path(__file__).parents[2]
EXAMPLES: Final = ROOT / "examples" / "checks"
FRAMEWORKS: Final = ROOT / ".venv" / "checks"
"""What ``make check-examples`` installs."""
HOURS: Final = "We are open from nine to six on weekdays."
ASKED: Final = "When are you open?"
IN_CHAINS: Final = """
import json
from langchain_core.runnables import RunnableLambda
from langchain_checks import checked_graph, guarded

def writer(draft):
    return RunnableLambda(lambda question: draft)

hours, asked = "We are open from nine to six on weekdays.", "When are you open?"
graph = [checked_graph(writer(each), [hours]).invoke({"question": asked}) for each in (hours, "At ten.")]
print(json.dumps({
    "runnable": [
        guarded(writer(hours), [hours]).invoke(asked),
        guarded(writer("At ten on Sundays."), [hours]).invoke(asked),
        guarded(writer(hours)).invoke("I call my lawyer."),
    ],
    "graph": [[each["verdict"], each["answer"]] for each in graph],
}))
"""
IN_SDK: Final = """
import { generateText, streamText } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { guarded } from "./ai_sdk.mjs";
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
let asked = 0;
const passages = ["We are open from nine to six on weekdays."];
const finishReason = { unified: "stop", raw: "stop" };
const model = (text) => guarded(new MockLanguageModelV4({ doGenerate: async () => (asked += 1,
  { content: [{ type: "text", text }], finishReason, usage, warnings: [] }) }), { passages });
const say = async (draft, prompt) => (await generateText({ model: model(draft), prompt })).text;
const hours = "We are open from nine to six on weekdays.";
const found = [await say(hours, "When are you open?"), await say("At ten on Sundays.", "When are you open?")];
const blocked = [await say(hours, "I call my lawyer."), asked];
let streamed = "";
const stream = streamText({ model: model(hours), prompt: "When are you open?" }).textStream;
for await (const part of stream) streamed += part;
console.log(JSON.stringify({ found, blocked, streamed }));
"""


@pytest.fixture(scope="module")
def environment(
    database_url: str, stack: Stack, sandbox_process: SandboxHandle, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mapping[str, str]]:
    """The environment of a program beside a running gateway."""
    for name in ("my-shop", "shop"):
        account = changed(Account(user_id=name, version=0), {**OPEN, "flagged_keywords": ["lawyer"]})
        asyncio.run(store_account(database_url, account))
    servers = {"HUSHGATE_MODEL_URL": sandbox_process.base_url, "HUSHGATE_MODEL_KEY": "sandbox"}
    log = tmp_path_factory.mktemp("gateway") / "log"
    with serving(database_url, stack.redis_url, log, **servers) as (url, _):
        yield {
            "PATH": os.environ["PATH"],
            "HUSHGATE_GATEWAY": url,
            "HUSHGATE_TOKEN": token(database_url, TokenScope.CHECK),
            "ACCOUNT": "shop",
        }


def said(command: list[str], environment: Mapping[str, str], cwd: Path = EXAMPLES) -> str:
    """What a program prints."""
    done = subprocess.run(
        command, env=environment, cwd=cwd, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_block_of_the_page_is_answered(environment: Mapping[str, str]) -> None:
    """As it stands there."""
    page = (ROOT / "docs" / "checks.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    verdict = json.loads(said(["sh", "-c", block], environment))

    assert (verdict["id"], verdict["verdict"], verdict["text"]) == ("turn-17", "allow", HOURS)


def test_the_block_of_the_contracts_is_answered(environment: Mapping[str, str]) -> None:
    """As it stands there."""
    page = (ROOT / "docs" / "contracts.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    results = json.loads(said(["sh", "-c", block], environment))["results"]

    assert [each["flagged"] for each in results] == [False, True]
    assert results[1]["categories"]["hushgate/FLAGGED_RULE"] is True


@pytest.mark.parametrize("command", [[sys.executable, "check.py"], [str(NODE), "check.mjs"]])
def test_a_program_without_packages_asks(environment: Mapping[str, str], command: list[str]) -> None:
    """The verdict, and the text or the reason."""
    answers = [
        said([*command, ASKED, HOURS, HOURS], environment),
        said([*command, ASKED, "At ten on Sundays.", HOURS], environment),
        said([*command, "I call my lawyer.", HOURS], environment),
        said([*command, ASKED, "At ten on Sundays."], environment),
        said([*command, "--search", ASKED, "At ten on Sundays."], environment),
        said([*command, ASKED], environment),
    ]

    assert answers == [
        f"allow {HOURS}",
        "hold LOW_CONFIDENCE_ESCALATED",
        "block FLAGGED_RULE",
        "allow At ten on Sundays.",
        "hold LOW_CONFIDENCE_ESCALATED",
        "allow MESSAGE_CHECKED",
    ]


def test_a_runnable_of_langchain_and_a_node_of_langgraph(environment: Mapping[str, str]) -> None:
    """What is held goes to a person; a blocked question reaches no model."""
    path = {"PYTHONPATH": f"{FRAMEWORKS / 'python'}:{EXAMPLES}"}
    found: dict[str, Any] = json.loads(said([sys.executable, "-c", IN_CHAINS], {**environment, **path}))

    assert found == {
        "runnable": [HOURS, "A person will answer you.", ""],
        "graph": [["allow", HOURS], ["hold", "A person will answer you."]],
    }


def test_a_middleware_of_the_ai_sdk(environment: Mapping[str, str], tmp_path: Path) -> None:
    """For texts and streams; a blocked question reaches no model."""
    for name in ("check.mjs", "ai_sdk.mjs"):
        (tmp_path / name).write_text((EXAMPLES / name).read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "node_modules").symlink_to(FRAMEWORKS / "node" / "node_modules")
    (tmp_path / "run.mjs").write_text(IN_SDK, encoding="utf-8")
    found = json.loads(said([str(NODE), "run.mjs"], environment, tmp_path))

    assert found == {
        "found": [HOURS, "A person will answer you."],
        "blocked": ["", 2],
        "streamed": HOURS,
    }
