"""The sandbox started with a set of conversations, through the real openai client."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from openai import APIStatusError, NotFoundError

from sandbox.server import SandboxError, SandboxHandle, start
from tests.contract.sandbox_client import client_of, reply

CASE = {
    "id": "hours",
    "domain": "shop",
    "query": "can i drop by late?",
    "doc": "shop/hours",
    "probe": "The shop opens at nine on weekdays.",
    "answer": "We open at nine.",
    "invented": "We open at five.",
}
JUDGED = """HUSHGATE-JUDGE: reading
QUESTION:
> can i drop by late?
PASSAGES:
> [1] Hours
> The shop opens at nine on weekdays.
REPLY:
> 1. We open at five.
END:"""


@pytest.fixture(scope="module")
def knowing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxHandle]:
    """A sandbox that knows one case and refuses embeddings."""
    folder = tmp_path_factory.mktemp("set")
    (folder / "cases.jsonl").write_text(json.dumps(CASE))
    with start(options=("--conversations", str(folder), "--embeddings", "none")) as sandbox:
        yield sandbox


async def test_writer_and_judge_change_while_it_runs(knowing: SandboxHandle) -> None:
    """The control route changes both; a judge that is off answers 503 to judge prompts only."""
    async with client_of(knowing) as client:
        written = []
        for writes in ("right", "invented"):
            knowing.set_conversations(writes=writes, judge="perfect")
            written.append(await reply(client, "Can I drop by late"))
        verdicts = json.loads(await reply(client, JUDGED) or "")["sentences"]
        knowing.set_conversations(writes="right", judge="off")
        with pytest.raises(APIStatusError) as away:
            await reply(client, JUDGED)
        answered = await reply(client, "Can I drop by late")

    assert written == ["We open at nine. [3]", "We open at five. [3]"]
    assert verdicts[0]["verdict"] == "contradicted"
    assert (away.value.status_code, answered) == (503, "We open at nine. [3]")


async def test_a_sandbox_without_cases_refuses_the_control_route(sandbox: SandboxHandle) -> None:
    """The message says which option is missing."""
    with pytest.raises(SandboxError, match="expected a sandbox started with --conversations"):
        sandbox.set_conversations(writes="right", judge="off")


async def test_refused_embeddings_are_not_found_and_forwarded_ones_come_from_the_other_server(
    knowing: SandboxHandle, sandbox: SandboxHandle
) -> None:
    """The other server counts the call and its vectors arrive unchanged."""
    async with client_of(knowing) as client:
        with pytest.raises(NotFoundError):
            await client.embeddings.create(model="any", input="text")
    before = sandbox.calls("embeddings")
    with start(options=("--embeddings", sandbox.base_url)) as passing:
        vectors = []
        for each in (passing, sandbox):
            async with client_of(each) as client:
                vectors.append((await client.embeddings.create(model="any", input="text")).data[0].embedding)

    assert vectors[0] == vectors[1]
    assert sandbox.calls("embeddings") == before + 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--judge", "off"), "expected --conversations FOLDER"),
        (("--conversations", "nowhere.jsonl"), "expected a readable file of cases"),
        (("--embeddings", "http://example.org/v1"), "expected none or http://127.0.0.1:PORT/v1"),
    ],
)
def test_a_wrong_option_ends_the_start_with_its_reason(options: tuple[str, ...], message: str) -> None:
    """Nothing listens, and the parent learns why."""
    with pytest.raises(SandboxError, match=message):
        start(options=options)
