"""What a vendor's server says, however hostile, becomes values that can be stored, or a clean refusal."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.adapters.api_errors import ApiStatusError
from worker.adapters.chat_classifier import ChatClassifier
from worker.adapters.completion_reading import completion_of
from worker.adapters.openai_embeddings import OpenAIEmbedder
from worker.adapters.openai_http import ApiAnswer
from worker.adapters.openai_moderation import OpenAIModerator
from worker.adapters.secret_mask import SecretMask
from worker.adapters.vendor_failures import failure
from worker.classifiers.endpoints import ClassifierEndpoint
from worker.classifiers.formats import ClassifierFormat
from worker.classifiers.prompts import ClassifierQuestion
from worker.errors import ModelUnavailable, ModerationUnavailable, RetrievalUnavailable
from worker.model import Completion, Tokens

DIRTY = "a\x00b\ud800c"


def completion(message: dict[str, Any], **more: Any) -> Completion:
    """Our value from a server's message."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}
    body = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return completion_of(body | more, model="m", max_tokens=64, has_tools=True)


def call(arguments: str, name: str = "search_documents") -> dict[str, Any]:
    """A message that asks for a tool."""
    function = {"name": name, "arguments": arguments}
    return {"content": None, "tool_calls": [{"id": "t", "type": "function", "function": function}]}


def test_nul_and_lone_surrogates_are_removed() -> None:
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
def test_a_malformed_completion_is_retryable(message: dict[str, Any], kind: str) -> None:
    """It is unavailable, not rejected and not a bug."""
    with pytest.raises(ModelUnavailable) as caught:
        completion(message)

    assert caught.value.kind == kind


def test_a_completion_without_an_end_is_malformed() -> None:
    """A server that ignores the limit of tokens does not stop the worker that reads its answer."""
    with pytest.raises(ModelUnavailable, match="at most 200000 characters") as caught:
        completion({"content": "open " * 50_000})

    assert caught.value.kind == "malformed"


@pytest.mark.parametrize("count", [10**30, -5])
def test_an_impossible_token_count_is_ignored(count: int) -> None:
    """The paid answer is kept."""
    usage = {"prompt_tokens": count, "completion_tokens": 3}

    assert completion({"content": "Nine."}, usage=usage).tokens == Tokens()


def test_a_content_filter_is_a_refusal() -> None:
    """A retry would be filtered again."""
    choice = {"index": 0, "finish_reason": "content_filter", "message": {"role": "assistant", "content": ""}}

    assert completion({}, choices=[choice]).refusal == "stopped by the vendor's content filter"


@given(st.text(st.characters(exclude_categories=()), max_size=400))
def test_any_vendor_error_can_be_stored(text: str) -> None:
    """At most 300 characters of the error are kept."""
    known = failure(ApiStatusError(text, status=500, headers={}, body=None))

    assert known is not None
    assert len(known.message) <= 300
    assert b"\x00" not in known.message.encode()


class Answering:
    """A client whose endpoint answers by a script."""

    def __init__(self, *results: dict[str, Any]) -> None:
        self._results = list(results)

    async def post(self, _path: str, _body: object) -> ApiAnswer:
        """The next result."""
        body = {"id": "1", "model": "omni", "results": [self._results.pop(0)]}
        return ApiAnswer(headers={}, content=json.dumps(body).encode())


def result(scores: dict[str, Any], flags: dict[str, Any]) -> dict[str, Any]:
    """One result."""
    return {"flagged": any(flags.values()), "categories": flags, "category_scores": scores}


class Repeating:
    """A client whose endpoint always gives the same answer."""

    base_url = ""
    mask = SecretMask()

    def __init__(self, content: bytes) -> None:
        self._content = content

    async def post(self, _path: str, _body: object) -> ApiAnswer:
        """The answer."""
        return ApiAnswer(headers={}, content=self._content)


LEVELS = 1015
"""A parser reads as many; a recursive reader does not."""
NESTED = b"[" * LEVELS + b'"text"' + b"]" * LEVELS
ERRORS = b'{"error":' * LEVELS + b'"text"' + b"}" * LEVELS
WIDE = {f"category {number}": False for number in range(501)}


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 100_000,
        ERRORS,
        b'{"choices": [], "data": [], "results": [], "errors": %b}' % ERRORS,
        b'{"choices": [{"message": {"content": %b}}], "data": %b, "results": %b}' % (NESTED, NESTED, NESTED),
        b'{"choices": 1e999, "data": [{"index": 1e999, "embedding": [1]}], "results": 1e999}',
        json.dumps({"choices": [], "data": [], "results": [result(dict.fromkeys(WIDE, 0.1), WIDE)]}).encode(),
    ],
    ids=["endless", "errors", "no results but errors", "values", "not finite", "many categories"],
)
async def test_an_answer_that_no_reader_can_follow_is_a_failed_attempt(content: bytes) -> None:
    """A defect would make the message a dead letter."""
    client: Any = Repeating(content)
    declared = ClassifierEndpoint(base_url="http://127.0.0.1", model="m", format=ClassifierFormat.POLICY)
    question = ClassifierQuestion(text="text", policy="No insults.")

    with pytest.raises(ModerationUnavailable):
        await OpenAIModerator(client, model="omni", timeout_s=5).moderate("text", [])
    with pytest.raises(ModerationUnavailable):
        await ChatClassifier(client, name="house", endpoint=declared).classify(question)
    with pytest.raises(RetrievalUnavailable):
        await OpenAIEmbedder(client, timeout_s=5).embed(["text"], model="e")


def test_the_audit_keeps_the_beginning_of_what_a_server_names() -> None:
    """A server may answer with 32 MB, and the audit is kept for ever."""
    huge = "x" * 1_000_000
    answered = completion({"content": "We are open."}, model=huge)
    refused = completion({"content": None, "refusal": huge})
    asked = call("{}")
    asked["tool_calls"][0]["id"] = huge

    assert (len(answered.model), len(refused.refusal or "")) == (200, 2_000)
    assert len(completion(asked).tool_calls[0].call_id) == 200
    with pytest.raises(ModelUnavailable, match="expected at most 200000 characters"):
        completion(call(json.dumps({"query": huge})))


async def moderated(*results: dict[str, Any], images: int = 0) -> Any:
    """The scores that the adapter returns for these results."""
    client: Any = Answering(*results)
    moderator = OpenAIModerator(client, model="omni", timeout_s=5)
    return await moderator.moderate("text", [f"https://x.example/{n}.png" for n in range(images)])


@pytest.mark.parametrize(
    "bad",
    [
        result({"hate": 0.1}, {}),
        result({}, {}),
        result({"hate": float("nan")}, {"hate": False}),
        result({"hate": 1.1}, {"hate": False}),
        result({"hate": -0.1}, {"hate": False}),
        result({"hate": "unlikely"}, {"hate": False}),
    ],
)
async def test_an_incomplete_moderation_result_is_refused(bad: dict[str, Any]) -> None:
    """Nothing says that the text was checked, so it must not pass as clean."""
    with pytest.raises(ModerationUnavailable) as caught:
        await moderated(bad)

    assert caught.value.kind == "malformed"


@pytest.mark.parametrize(
    ("given", "scores"),
    [
        ({"flagged": True, "categories": ["hate"]}, {"hate": 1.0}),
        ({"flagged": True, "categories": ["hate"], "category_scores": {"hate": 0.9}}, {"hate": 0.9}),
        ({"flagged": True, "categories": "hate"}, {"flagged": 1.0}),
    ],
)
async def test_a_flagged_result_is_a_hit_whatever_its_categories_are(
    given: dict[str, Any], scores: dict[str, float]
) -> None:
    """As no result it would pass where an account lets texts pass while moderation is away."""
    found = await moderated(given)

    assert (found.scores, found.flagged) == (scores, set(scores))


async def test_a_score_that_rounding_took_out_of_its_range_is_kept() -> None:
    """Single precision ends at 1.0000001."""
    found = await moderated(
        result({"hate": 1.0000001, "violence": -1e-9}, {"hate": False, "violence": False})
    )

    assert found.scores == {"hate": 1.0, "violence": 0.0}


async def test_the_worst_of_text_and_images_counts_in_every_category() -> None:
    """Also in one that the first result does not name."""
    found = await moderated(
        result({"hate": 0.2, "illicit": None}, {"hate": False}),
        result({"hate": 0.1, "violence": 0.9}, {"violence": True}),
        images=2,
    )

    assert found.scores == {"hate": 0.2, "violence": 0.9}
    assert found.flagged == {"violence"}
