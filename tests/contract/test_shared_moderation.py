"""Several texts in one moderation request, through the real adapter: each is treated as if it came alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import pytest
from structlog.testing import capture_logs

from sandbox.server import SandboxHandle
from tests.contract.test_misconfigured import JSON, answering
from worker.adapters import openai_client
from worker.adapters.openai_moderation import OpenAIModerator
from worker.model import ModerationScores

TEXTS = (
    "When are you open?",
    "I will kill you",
    "refused [[sandbox:mod=400]]",
    "stupid",
    "broken once [[sandbox:mod=500:1]]",
    "no result once [[sandbox:mod=empty:1]]",
    "hate [[sandbox:mod=flagged=hate]]",
    "When are you open?",
)


async def moderated(moderator: OpenAIModerator, texts: Sequence[str]) -> list[object]:
    """What each text gets when all are moderated at once: scores, or class and kind of the error."""
    found = await asyncio.gather(*(moderator.moderate(text, ()) for text in texts), return_exceptions=True)
    return [
        (type(each).__name__, getattr(each, "kind", "")) if isinstance(each, BaseException) else each
        for each in found
    ]


async def test_each_text_gets_what_it_gets_alone(sandbox: SandboxHandle) -> None:
    """Scores to the last digit, refusals and faults; twice, because some faults end after one call."""
    found = []
    for most_texts in (1, 32):
        sandbox.reset()
        async with openai_client.client(sandbox.base_url, None, connections=50) as client:
            moderator = OpenAIModerator(client, model="omni", timeout_s=5, most_texts=most_texts)
            found.append([await moderated(moderator, TEXTS) for _ in range(2)])

    alone, together = found
    assert together == alone
    assert alone[0][2:6:2] == [("ModerationRejected", ""), ("ModerationUnavailable", "server_error")]


async def test_texts_that_come_together_are_one_request(sandbox: SandboxHandle) -> None:
    """Images have requests of their own."""
    async with openai_client.client(sandbox.base_url, None, connections=50) as client:
        moderator = OpenAIModerator(client, model="omni", timeout_s=5)
        await asyncio.gather(
            *(moderator.moderate(f"text {number}", ()) for number in range(32)),
            moderator.moderate("Look", ["https://x.test/1.png", "https://x.test/2.png"]),
        )

    assert sandbox.calls("moderations") == 3
    assert sandbox.calls_about("text 31") == {"moderations": 1}


async def test_results_are_reused_for_equal_texts(sandbox: SandboxHandle) -> None:
    """Failures are not."""
    failing = "no [[sandbox:mod=500:1]]"
    async with openai_client.client(sandbox.base_url, None, connections=50) as client:
        moderator = OpenAIModerator(client, model="omni", timeout_s=5, reuse_s=60)
        first, again = [await moderated(moderator, [failing]) for _ in range(2)]
        await moderated(moderator, [failing])

    assert (first, type(again[0])) == ([("ModerationUnavailable", "server_error")], ModerationScores)
    assert sandbox.calls("moderations") == 2


async def test_a_reused_result_does_not_end_an_outage(sandbox: SandboxHandle) -> None:
    """Only an answer of the API does, with or without images."""
    ended = []
    async with openai_client.client(sandbox.base_url, None, connections=50) as client:
        moderator = OpenAIModerator(client, model="omni", timeout_s=5, reuse_s=60)
        with capture_logs() as logs:
            await moderated(moderator, ["known"])
            for images in ((), ("https://x.test/1.png",)):
                for text in (f"down {len(images)} [[sandbox:mod=500]]", "known"):
                    await moderated(moderator, [text])
                reused = [line["event"] for line in logs]
                await moderator.moderate(f"new {len(images)}", images)
                ended.append((reused, [line["event"] for line in logs]))

    down, up = "moderation_unavailable", "moderation_available"
    assert ended == [([down], [down, up]), ([down, up, down], [down, up, down, up])]


RESULT = {"flagged": False, "categories": {"hate": False}, "category_scores": {"hate": 0.1}}


@pytest.mark.parametrize("results", [[], [RESULT, RESULT], {"0": RESULT}])
async def test_another_number_of_results_is_no_result(results: object) -> None:
    """None may be given to the wrong text."""
    with answering(200, JSON, json.dumps({"model": "omni", "results": results})) as url:
        async with openai_client.client(url, "key", connections=2) as client:
            moderator = OpenAIModerator(client, model="omni", timeout_s=5)
            found = await moderated(moderator, ["one", "two", "three"])

    assert found == [("ModerationUnavailable", "malformed")] * 3


async def test_numbered_results_are_those_of_their_texts() -> None:
    """Whatever their order; a category that says "safe" is no hit, and an empty list names none."""
    second = RESULT | {"index": 1, "categories": {"hate": True, "Safe": False}}
    first = {"index": 0, "flagged": False, "categories": {"safe": True}, "category_scores": {"safe": 0.9}}
    third = {"index": 2, "flagged": False, "categories": [], "category_scores": {"hate": 0.1}}
    body = json.dumps({"model": "omni", "results": [third, second, first]})
    with answering(200, JSON, body) as url:
        async with openai_client.client(url, "key", connections=2) as client:
            moderator = OpenAIModerator(client, model="omni", timeout_s=5)
            found = await asyncio.gather(*(moderator.moderate(text, ()) for text in ("one", "two", "three")))

    assert [each.flagged for each in found] == [frozenset(), {"hate"}, frozenset()]


async def test_a_server_that_takes_one_text_only_is_asked_for_each() -> None:
    """It gives one result for any request."""
    with answering(200, JSON, json.dumps({"model": "omni", "results": [RESULT]})) as url:
        async with openai_client.client(url, "key", connections=2) as client:
            moderator = OpenAIModerator(client, model="omni", timeout_s=5)
            found = await moderated(moderator, ["one", "two"])

    assert found == [ModerationScores(scores={"hate": 0.1}, flagged=frozenset(), model="omni")] * 2
