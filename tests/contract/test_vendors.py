"""Each adapter against each vendor of the sandbox: what a vendor refuses, and every form it answers in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from sandbox.routes import Route
from sandbox.server import SandboxHandle
from sandbox.vendors.form import Meaning, VendorForm
from sandbox.vendors.table import VENDORS
from worker.adapters import openai_client
from worker.adapters.chat_classifier import ChatClassifier
from worker.adapters.openai_chat import OpenAIChat
from worker.adapters.openai_client import Watch
from worker.adapters.openai_embeddings import OpenAIEmbedder
from worker.adapters.openai_http import ApiClient
from worker.adapters.openai_moderation import OpenAIModerator
from worker.classifiers.endpoints import ClassifierEndpoint
from worker.classifiers.formats import ClassifierFormat
from worker.classifiers.prompts import ClassifierQuestion
from worker.errors import ModelRejected, ModelUnavailable, ModerationUnavailable, RetrievalUnavailable
from worker.generation import TOOLS
from worker.model import Completion, Message, MessageRole, Prompt, ToolCall, ToolResult, ToolRound

ANSWER = "We are open from nine to six on weekdays, and on Saturday from ten to four"
PASSAGES = f"<passages abc>\n[1] Hours: {ANSWER}.\n</passages abc>"
PLAIN = Prompt(
    system="Answer from the passages.",
    history=(),
    question="When are you open on weekdays?",
    passages=PASSAGES,
    fence="abc",
    tools=TOOLS,
)
CALL = ToolCall(call_id="a1B2c3D4e", name="search_documents", arguments={"query": "hours"})
DONE = ToolRound(calls=(CALL,), results=(ToolResult(call_id="a1B2c3D4e", content=PASSAGES),))


def lines(*said: tuple[MessageRole, str]) -> tuple[Message, ...]:
    """Lines of a conversation."""
    return tuple(Message(role=role, text=text) for role, text in said)


USER, ASSISTANT, AGENT = MessageRole.USER, MessageRole.ASSISTANT, MessageRole.AGENT
PROMPTS = {
    "passages": PLAIN,
    "history": replace(PLAIN, history=lines((USER, "Hello"), (ASSISTANT, "Hello!"))),
    "begins with ours": replace(PLAIN, history=lines((ASSISTANT, "Welcome!"), (USER, "Hello"))),
    "two of one role": replace(
        PLAIN, history=lines((USER, "Hello"), (USER, "Anybody?"), (ASSISTANT, "Yes."), (AGENT, "Here."))
    ),
    "empty line": replace(PLAIN, history=lines((USER, " "), (ASSISTANT, "Hello!"))),
    "tool round": replace(PLAIN, tool_rounds=(DONE,)),
    "last round": replace(PLAIN, tool_rounds=(DONE,), must_answer=True),
    "no tools": replace(PLAIN, tools=()),
    "judge": Prompt(
        system="Judge.",
        history=(),
        question=f"HUSHGATE-JUDGE: relevance\nQUESTION: open?\nREPLY: {ANSWER}.\nPASSAGES:\n> No.\nEND:",
        schema={"type": "object", "properties": {"relevance": {"type": "number"}}},
    ),
}
FORMS = [(vendor, form) for vendor in VENDORS.values() for form in vendor.forms]


@pytest.fixture
async def endpoint(sandbox: SandboxHandle) -> AsyncIterator[ApiClient]:
    """A client of the sandbox."""
    async with openai_client.client(sandbox.base_url, "key", connections=2) as opened:
        yield opened


def asked_to_stream(body: Any) -> Any:
    """What a request says about a stream; some gateways stream unless it says no."""
    return body["stream"]


@pytest.mark.parametrize("vendor", VENDORS)
async def test_a_vendor_answers_every_call_of_a_worker(
    sandbox: SandboxHandle, endpoint: ApiClient, vendor: str
) -> None:
    """Whatever it refuses of a request is left out, and stays left out."""
    sandbox.speak_as(vendor)
    model = OpenAIChat(endpoint, model="m", max_tokens=64)
    found = {name: await model.complete(prompt, 5) for name, prompt in PROMPTS.items()}
    before = sandbox.calls("chat") + sandbox.calls("judge")
    for prompt in PROMPTS.values():
        await model.complete(prompt, 5)
    repeated = sandbox.calls("chat") + sandbox.calls("judge") - before

    assert {name: bool(each.text or each.tool_calls) for name, each in found.items()} == dict.fromkeys(
        PROMPTS, True
    )
    assert ANSWER in found["passages"].text
    asked = {asked_to_stream(each["body"]) for each in sandbox.requests(route="chat")}
    assert asked == ({False, True} if vendor == "dashscope-qwq" else {False})
    assert repeated == len(PROMPTS)


async def test_a_model_that_takes_no_tools_beside_reasoning_keeps_its_tools(
    sandbox: SandboxHandle, endpoint: ApiClient
) -> None:
    """It reasons where no tools are offered."""
    sandbox.speak_as("openai-reasoning-without-tools")
    model = OpenAIChat(endpoint, model="m", max_tokens=64)
    for prompt in (PLAIN, replace(PLAIN, tools=())):
        await model.complete(prompt, 5)
    bodies: list[Any] = [each["body"] for each in sandbox.requests(route="chat")]

    assert [("tools" in each, each.get("reasoning_effort")) for each in bodies[:2]] == [
        (False, None),
        (True, "none"),
    ]


@pytest.mark.parametrize("vendor", VENDORS)
async def test_a_vendor_answers_moderators_classifiers_and_embedders(
    sandbox: SandboxHandle, endpoint: ApiClient, vendor: str
) -> None:
    """With each vendor's usual answer and its limits."""
    sandbox.speak_as(vendor)
    declared = ClassifierEndpoint(
        base_url=sandbox.base_url, model="gpt-oss-safeguard-20b", format=ClassifierFormat.POLICY
    )
    classified = await ChatClassifier(endpoint, name="house", endpoint=declared).classify(
        ClassifierQuestion(text="Hello", policy="No insults.")
    )
    moderated = await OpenAIModerator(endpoint, model="omni", timeout_s=5).moderate("Hello", ())
    embedder = OpenAIEmbedder(endpoint, timeout_s=5)
    texts = [f"text {number}" for number in range(130)]
    vectors = await embedder.embed(texts, model="e")

    assert classified.scores
    assert not moderated.flagged
    assert vectors == tuple([(await embedder.embed([text], model="e"))[0] for text in texts])


def misunderstood(form: VendorForm, found: Completion | Exception, logged: list[str]) -> str:
    """What is wrong with how a form of a chat answer was taken; empty for nothing."""
    kind = getattr(found, "kind", "")
    match form.meaning:
        case Meaning.WHOLE:
            right = isinstance(found, Completion) and (
                bool(found.tool_calls) or found.text.removesuffix("[1]").strip() == f"{ANSWER}."
            )
        case Meaning.DECLINED:
            right = isinstance(found, Completion) and bool(found.refusal) and not found.text
        case Meaning.UNUSABLE:
            right = isinstance(found, ModelUnavailable) and kind in {"unfinished", "malformed", "empty"}
        case Meaning.LATER:
            right = isinstance(found, ModelUnavailable) and kind in {"rate_limited", "server_error"}
            right = right and found.retry_after_s == (form.wait_s and pytest.approx(form.wait_s, rel=0.1))  # type: ignore[union-attr]
        case Meaning.INPUT:
            right = isinstance(found, ModelRejected) and kind == "rejected" and not found.is_too_long
        case Meaning.TOO_LONG:
            right = isinstance(found, ModelRejected) and kind == "rejected" and found.is_too_long
        case _:
            right = isinstance(found, ModelRejected) and kind == "misconfigured" and logged == [form.meaning]
    alarmed = bool(logged) and form.meaning not in {Meaning.KEY, Meaning.QUOTA, Meaning.MODEL}
    return "" if right and not alarmed else f"{found!r} {kind} {getattr(found, 'retry_after_s', '')} {logged}"


class Alarms(Watch):
    """Keeps the causes that a person was called for."""

    def __init__(self) -> None:
        self.causes: list[str] = []
        super().__init__("model", lambda error: self.causes.append(getattr(error, "cause", "")))


@pytest.mark.parametrize(
    ("vendor", "form"),
    [
        pytest.param(vendor.name, form, id=f"{vendor.name}-{form.name}")
        for vendor, form in FORMS
        if form.route is Route.CHAT
    ],
)
async def test_a_form_of_a_chat_answer_is_understood(
    sandbox: SandboxHandle, endpoint: ApiClient, vendor: str, form: VendorForm
) -> None:
    """As whole, unusable, later, refused or the deployment's fault, with the wait it asks for."""
    sandbox.speak_as(vendor)
    alarms = Alarms()
    model = OpenAIChat(endpoint, model="m", max_tokens=64, watch=alarms)
    await model.complete(PLAIN, 5)  # learns what the vendor refuses
    sandbox.add_rule("chat", "form", value=form.name)
    found: Completion | Exception
    try:
        found = await model.complete(PLAIN, 5)
    except (ModelUnavailable, ModelRejected) as error:
        found = error

    if form.meaning is Meaning.KEY:  # a 403 in doubt waits for the next one
        with pytest.raises(ModelRejected):
            await model.complete(PLAIN, 5)

    assert misunderstood(form, found, alarms.causes) == ""


@pytest.mark.parametrize(
    ("vendor", "form"),
    [
        pytest.param(vendor.name, form, id=f"{vendor.name}-{form.name}")
        for vendor, form in FORMS
        if form.route is Route.MODERATIONS
    ],
)
async def test_a_form_of_a_moderation_result_is_understood(
    sandbox: SandboxHandle, endpoint: ApiClient, vendor: str, form: VendorForm
) -> None:
    """A flagged one is a hit, one without categories is no result, others have scores."""
    sandbox.speak_as(vendor)
    moderator = OpenAIModerator(endpoint, model="omni", timeout_s=5)
    sandbox.add_rule("moderations", "form", value=form.name)
    if form.meaning is Meaning.UNUSABLE:
        with pytest.raises(ModerationUnavailable):
            await moderator.moderate("Hello", ())
        return

    found = await moderator.moderate("Hello", ())

    assert bool(found.flagged) is (form.meaning is Meaning.FLAGGED)
    assert found.flagged <= found.scores.keys()


@pytest.mark.parametrize(
    ("vendor", "form"),
    [
        pytest.param(vendor.name, form, id=f"{vendor.name}-{form.name}")
        for vendor, form in FORMS
        if form.route is Route.EMBEDDINGS and form.meaning is not Meaning.TOO_LONG
    ],
)
async def test_a_form_of_an_embedding_is_understood(
    sandbox: SandboxHandle, endpoint: ApiClient, vendor: str, form: VendorForm
) -> None:
    """The vectors in the order of the texts, or none."""
    sandbox.speak_as(vendor)
    embedder = OpenAIEmbedder(endpoint, timeout_s=5)
    expected = await embedder.embed(["one", "two"], model="e")
    sandbox.add_rule("embeddings", "form", value=form.name)
    if form.meaning is not Meaning.WHOLE:
        with pytest.raises(RetrievalUnavailable):
            await embedder.embed(["one", "two"], model="e")
        return

    assert await embedder.embed(["one", "two"], model="e") == expected


@pytest.mark.parametrize("vendor", ["tgi", "llama-cpp"])
async def test_a_text_that_an_embedding_model_refuses_for_its_length_is_embedded_by_its_beginning(
    sandbox: SandboxHandle, endpoint: ApiClient, vendor: str
) -> None:
    """A long message is still searched with; another refusal of one text stays a refusal."""
    embedder = OpenAIEmbedder(endpoint, timeout_s=5)
    text = "opening hours " * 100
    sandbox.speak_as(vendor)
    sandbox.add_rule("embeddings", "form", value="too_long_text", contains=text)

    found = await embedder.embed([text], model="e")

    assert found == await embedder.embed([text[: len(text) // 2]], model="e")


@pytest.mark.parametrize(("vendor", "form"), [("tgi", "not_a_number"), ("ollama", "not_a_number")])
async def test_a_text_without_a_vector_takes_none_from_the_others(
    sandbox: SandboxHandle, endpoint: ApiClient, vendor: str, form: str
) -> None:
    """It is embedded by its beginning, and later requests are as large as before."""
    embedder = OpenAIEmbedder(endpoint, timeout_s=5)
    texts = [f"text {number}" for number in range(30)]
    sandbox.speak_as(vendor)
    expected = await embedder.embed([*texts[:7], "text", *texts[8:]], model="e")
    texts[7] = "text"[:4] + "\u22a5" * 4
    sandbox.add_rule("embeddings", "form", value=form, contains=texts[7])
    found = await embedder.embed(texts, model="e")
    before = sandbox.calls("embeddings")
    await embedder.embed(texts[8:], model="e")

    assert found == expected
    assert sandbox.calls("embeddings") == before + 1


async def test_a_server_without_any_vector_ends_the_call(sandbox: SandboxHandle, endpoint: ApiClient) -> None:
    """A text is not shortened for ever."""
    sandbox.speak_as("ollama")
    sandbox.add_rule("embeddings", "form", value="not_a_number")
    with pytest.raises(RetrievalUnavailable, match="NaN"):
        await OpenAIEmbedder(endpoint, timeout_s=5).embed(["one", "two"], model="e")

    assert sandbox.calls("embeddings") == 3


@pytest.mark.parametrize("long", [False, True])
async def test_how_many_texts_a_server_takes_is_learnt_once(
    sandbox: SandboxHandle, endpoint: ApiClient, long: bool
) -> None:
    """128 and 64 are refused, never again; a text that is too long teaches nothing."""
    embedder = OpenAIEmbedder(endpoint, timeout_s=5)
    sandbox.speak_as("tgi")
    texts = [f"text {number}" for number in range(320)]
    await embedder.embed(texts, model="e")
    first = sandbox.calls("embeddings")
    if long:
        texts[9] = "opening hours " * 100
        sandbox.add_rule("embeddings", "form", value="too_long_text", contains=texts[9])
        await embedder.embed(texts[:32], model="e")
    second = sandbox.calls("embeddings")
    await embedder.embed(texts[10:], model="e")

    assert first == 12
    assert sandbox.calls("embeddings") == second + 10


async def test_a_text_that_a_classifier_refuses_for_its_length_is_classified_in_pieces(
    sandbox: SandboxHandle, endpoint: ApiClient
) -> None:
    """The worst piece counts, and its tokens are summed."""
    sandbox.speak_as("vllm")
    declared = ClassifierEndpoint(
        base_url=sandbox.base_url, model="gpt-oss-safeguard-20b", format=ClassifierFormat.POLICY
    )
    text = "We are happy with the lamps. " * 900 + "I will kill you."
    found = await ChatClassifier(endpoint, name="house", endpoint=declared).classify(
        ClassifierQuestion(text=text, policy="No threats.")
    )

    assert found.flagged
    assert found.tokens.prompt > 4000


async def test_the_end_of_a_long_text_is_moderated(sandbox: SandboxHandle, endpoint: ApiClient) -> None:
    """An endpoint that reads a beginning only gets no longer text; the first piece has an image."""
    moderator = OpenAIModerator(endpoint, model="omni", timeout_s=5)
    text = "We are happy with the lamps. " * 660 + "I will kill you."

    alone = await moderator.moderate(text, ())
    with_images = await moderator.moderate(text, ["https://x.example/1.png", "https://x.example/2.png"])
    bodies = [each["body"] for each in sandbox.requests(route="moderations")]

    assert alone.flagged == with_images.flagged != frozenset()
    assert len(text) > 19_000
    assert max(len(each) for body in bodies for each in sent_texts(body)) < 9000


def sent_texts(body: Any) -> list[str]:
    """The texts of a moderation request."""
    asked = body["input"]
    parts = asked if isinstance(asked, list) else [asked]
    return [each if isinstance(each, str) else each.get("text", "") for each in parts]
