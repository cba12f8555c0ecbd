"""What a vendor's server says, however hostile, becomes values that can be stored, or a clean refusal."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.adapters import openai_chat, openai_client
from worker.adapters.openai_moderation import OpenAIModerator
from worker.errors import ModelUnavailable, ModerationUnavailable
from worker.model import Completion, Tokens

DIRTY = "a\x00b\ud800c"


def completion(message: dict[str, Any], **more: Any) -> Completion:
    """Our value from a server's message."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}
    body = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return openai_chat._completion(body | more)


def call(arguments: str, name: str = "search_documents") -> dict[str, Any]:
    """A message that asks for a tool."""
    function = {"name": name, "arguments": arguments}
    return {"content": None, "tool_calls": [{"id": "t", "type": "function", "function": function}]}


def test_no_nul_and_no_half_character_gets_through() -> None:
    """Postgres takes neither, and a paid completion must not become poison."""
    text = completion({"content": DIRTY}, model=DIRTY)
    refused = completion({"content": None, "refusal": DIRTY})
    tool = completion(call(r'{"query": "a\u0000b\ud800c", "more": 1}'))

    assert (text.text, text.model, refused.refusal) == ("abc", "abc", "abc")
    assert tool.tool_calls[0].arguments == {"query": "abc", "more": 1}


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ({"content": None}, "empty"),
        ({"content": " \x00\n"}, "empty"),
        ({"content": "", "refusal": ""}, "empty"),
        (call("not json"), "malformed"),
        (call("[]"), "malformed"),
        (call("{}", name="rm"), "malformed"),
    ],
)
def test_a_completion_without_sense_is_worth_another_try(message: dict[str, Any], kind: str) -> None:
    """It is unavailable, not rejected and not a bug."""
    with pytest.raises(ModelUnavailable) as caught:
        completion(message)

    assert caught.value.kind == kind


@pytest.mark.parametrize("count", [10**30, -5])
def test_a_count_of_tokens_nobody_can_mean_is_none(count: int) -> None:
    """The answer was paid for; its bill is not worth losing it."""
    usage = {"prompt_tokens": count, "completion_tokens": 3}

    assert completion({"content": "Nine."}, usage=usage).tokens == Tokens()


def test_a_content_filter_is_a_refusal() -> None:
    """Asking again would be filtered again."""
    choice = {"index": 0, "finish_reason": "content_filter", "message": {"role": "assistant", "content": ""}}

    assert completion({}, choices=[choice]).refusal == "stopped by the vendor's content filter"


@given(st.text(st.characters(exclude_categories=()), max_size=400))
def test_a_vendor_s_error_can_be_stored_whatever_it_says(text: str) -> None:
    """At most 300 characters of it."""
    response = httpx2.Response(500, request=httpx2.Request("POST", "http://x.example"))
    failure = openai_client.failure(openai.InternalServerError(text, response=response, body=None))

    assert failure is not None
    assert len(failure.message) <= 300
    assert b"\x00" not in failure.message.encode()


class Answering:
    """A client whose endpoint answers by a script."""

    def __init__(self, *verdicts: dict[str, Any]) -> None:
        self._verdicts = list(verdicts)

    async def post(self, _path: str, **_asked: Any) -> httpx2.Response:
        """The next verdict."""
        body = {"id": "1", "model": "omni", "results": [self._verdicts.pop(0)]}
        return httpx2.Response(200, content=json.dumps(body))


def verdict(scores: dict[str, Any], flags: dict[str, Any]) -> dict[str, Any]:
    """One result."""
    return {"flagged": any(flags.values()), "categories": flags, "category_scores": scores}


async def moderated(*verdicts: dict[str, Any], images: int = 0) -> Any:
    """What the adapter makes of them."""
    client: Any = Answering(*verdicts)
    moderator = OpenAIModerator(client, model="omni", timeout_s=5)
    return await moderator.moderate("text", [f"https://x.example/{n}.png" for n in range(images)])


@pytest.mark.parametrize(
    "bad",
    [
        verdict({"violence": None}, {"violence": True}),
        verdict({"hate": 0.1}, {"violence": True}),
        verdict({}, {}),
        verdict({"hate": float("nan")}, {"hate": False}),
        verdict({"hate": 1.1}, {"hate": False}),
        verdict({"hate": -0.1}, {"hate": False}),
        verdict({"hate": "high"}, {"hate": False}),
    ],
)
async def test_a_verdict_that_is_not_whole_is_none(bad: dict[str, Any]) -> None:
    """A category that is flagged without a score must not pass as clean."""
    with pytest.raises(ModerationUnavailable) as caught:
        await moderated(bad)

    assert caught.value.kind == "malformed"


async def test_the_worst_of_text_and_images_counts_in_every_category() -> None:
    """Also in one that the first verdict does not name."""
    found = await moderated(
        verdict({"hate": 0.2, "illicit": None}, {"hate": False}),
        verdict({"hate": 0.1, "violence": 0.9}, {"violence": True}),
        images=2,
    )

    assert found.scores == {"hate": 0.2, "violence": 0.9}
    assert found.flagged == {"violence"}
