"""Each port's contract, run on the real adapter and on the fake that unit tests stand on."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from sandbox.server import SandboxHandle
from tests.support.fakes import (
    CLEAN,
    FakeClassifier,
    FakeClock,
    FakeConversations,
    FakeModel,
    FakeModerator,
    FakeRetriever,
)
from tests.support.samples import passage
from worker.adapters import openai_client
from worker.adapters.chat_classifier import ChatClassifier
from worker.adapters.openai_chat import OpenAIChat
from worker.adapters.openai_moderation import OpenAIModerator
from worker.adapters.system_clock import SystemClock
from worker.classifiers.endpoints import ClassifierEndpoint
from worker.classifiers.formats import FORMATS, ClassifierFormat
from worker.classifiers.prompts import ClassifierQuestion
from worker.errors import (
    EndpointMisconfigured,
    ModelRejected,
    ModelUnavailable,
    ModerationRejected,
    ModerationUnavailable,
)
from worker.model import Completion, Message, MessageRole, Prompt
from worker.ports import Classifier, Clock, Conversations, LanguageModel, Moderator, Retriever

PROMPT = Prompt(
    system="Passages:\n\n[1] Opening hours: We are open from nine to six on weekdays.",
    history=(
        Message(role=MessageRole.USER, text="Hello"),
        Message(role=MessageRole.ASSISTANT, text="Hello!"),
    ),
    question="When are you open on weekdays?",
)
ANSWER = Completion(text="From nine to six.", model="fake")
REAL, FAKE = "real", "fake"


class Models:
    """A language model that answers, or fails in a named way."""

    def __init__(self, kind: str, sandbox: SandboxHandle, client: Any) -> None:
        self._kind, self._sandbox, self._client = kind, sandbox, client

    def failing(self, fault: str | None, error: Exception | None) -> LanguageModel:
        """The model whose next call meets this fault; none to answer."""
        if self._kind == FAKE:
            return FakeModel([error or ANSWER])
        if fault:
            self._sandbox.add_rule("chat", fault)
        return OpenAIChat(self._client, model="sandbox", max_tokens=64)


class Moderators:
    """A moderation API that answers, or fails in a named way."""

    def __init__(self, kind: str, sandbox: SandboxHandle, client: Any) -> None:
        self._kind, self._sandbox, self._client = kind, sandbox, client

    def failing(self, fault: str | None, error: Exception | None) -> Moderator:
        """The moderator whose next call meets this fault; none to answer."""
        if self._kind == FAKE:
            return FakeModerator([error or CLEAN])
        if fault:
            self._sandbox.add_rule("moderations", fault)
        return OpenAIModerator(self._client, model="omni", timeout_s=5)


MODELS = {
    ClassifierFormat.POLICY: "gpt-oss-safeguard-20b",
    ClassifierFormat.LLAMA_GUARD: "Llama-Guard-4-12B",
    ClassifierFormat.QWEN3GUARD: "Qwen/Qwen3Guard-Gen-8B",
    ClassifierFormat.SHIELDGEMMA: "shieldgemma:9b",
}


class Classifiers:
    """A classifier of one format that answers, or fails in a named way."""

    def __init__(self, kind: str, sandbox: SandboxHandle, client: Any) -> None:
        self._kind, self._sandbox, self._client = kind, sandbox, client

    def failing(self, fault: str | None, error: Exception | None) -> Classifier:
        """The classifier whose next call meets this fault; none to answer."""
        if self._kind == FAKE:
            return FakeClassifier([error or CLEAN])
        if fault:
            self._sandbox.add_rule("classifier", fault)
        form = ClassifierFormat(self._kind)
        endpoint = ClassifierEndpoint(
            base_url=self._sandbox.base_url, model=MODELS[form], format=form, timeout_s=2
        )
        return ChatClassifier(self._client, name=self._kind, endpoint=endpoint)

    def question(self, text: str) -> ClassifierQuestion:
        """A question that fits the format."""
        reads_policy = self._kind == FAKE or FORMATS[ClassifierFormat(self._kind)].reads_policy
        return ClassifierQuestion(text=text, policy="No insults." if reads_policy else "")


@pytest.fixture(params=[*ClassifierFormat, FAKE])
async def classifiers(sandbox: SandboxHandle, request: pytest.FixtureRequest) -> AsyncIterator[Classifiers]:
    """Every format, and the fake."""
    async with openai_client.client(sandbox.base_url, "key", connections=4) as client:
        yield Classifiers(request.param, sandbox, client)


@pytest.fixture(params=[REAL, FAKE])
async def models(sandbox: SandboxHandle, request: pytest.FixtureRequest) -> AsyncIterator[Models]:
    """Both kinds."""
    async with openai_client.client(sandbox.base_url, "key", connections=4) as client:
        yield Models(request.param, sandbox, client)


@pytest.fixture(params=[REAL, FAKE])
async def moderators(sandbox: SandboxHandle, request: pytest.FixtureRequest) -> AsyncIterator[Moderators]:
    """Both kinds."""
    async with openai_client.client(sandbox.base_url, "key", connections=4) as client:
        yield Moderators(request.param, sandbox, client)


async def test_a_model_answers_with_text_calls_or_a_refusal(models: Models) -> None:
    """Never with none of them, and with its name."""
    answer = await models.failing(None, None).complete(PROMPT, 5)

    assert answer.text or answer.tool_calls or answer.refusal
    assert answer.model
    assert answer.tokens.prompt >= 0


@pytest.mark.parametrize(
    ("fault", "kind"),
    [("500", "server_error"), ("429", "rate_limited"), ("malformed", "malformed"), ("empty", "empty")],
)
async def test_a_model_s_passing_failure_is_unavailable(models: Models, fault: str, kind: str) -> None:
    """With its kind, for the audit."""
    with pytest.raises(ModelUnavailable) as caught:
        await models.failing(fault, ModelUnavailable("no", kind=kind)).complete(PROMPT, 5)

    assert caught.value.kind == kind


@pytest.mark.parametrize("status", [400, 401, 403])
async def test_a_model_s_refusal_of_the_request_is_final(models: Models, status: int) -> None:
    """With its status."""
    with pytest.raises(ModelRejected) as caught:
        await models.failing(str(status), ModelRejected("no", status=status)).complete(PROMPT, 5)

    assert caught.value.status == status


async def test_a_result_has_a_score_for_each_flagged_category(moderators: Moderators) -> None:
    """All scores 0..1, and a model's name."""
    result = await moderators.failing(None, None).moderate("When are you open?", ())

    assert result.flagged <= result.scores.keys()
    assert all(0 <= score <= 1 for score in result.scores.values())
    assert result.scores
    assert result.model


@pytest.mark.parametrize(
    ("fault", "kind"), [("500", "server_error"), ("429", "rate_limited"), ("malformed", "malformed")]
)
async def test_a_failed_moderation_is_unavailable(moderators: Moderators, fault: str, kind: str) -> None:
    """Never a score."""
    with pytest.raises(ModerationUnavailable) as caught:
        await moderators.failing(fault, ModerationUnavailable("no", kind=kind)).moderate("hello", ())

    assert caught.value.kind == kind


async def test_an_input_nobody_can_judge_is_rejected(moderators: Moderators) -> None:
    """Asking again cannot help."""
    with pytest.raises(ModerationRejected):
        await moderators.failing("400", ModerationRejected("no")).moderate("hello", ())


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_a_refused_deployment_is_no_outage(moderators: Moderators, status: int) -> None:
    """It has its own error, which no failure policy lets pass."""
    error = EndpointMisconfigured("no", cause="key", status=status)
    with pytest.raises(EndpointMisconfigured) as caught:
        await moderators.failing(str(status), error).moderate("hello", ())

    assert caught.value.status == status


async def test_a_classification_has_a_score_for_each_flagged_category(classifiers: Classifiers) -> None:
    """All scores 0..1, and a model's name, as of a moderation API."""
    found = await classifiers.failing(None, None).classify(classifiers.question("When are you open?"))

    assert found.flagged <= found.scores.keys()
    assert all(0 <= score <= 1 for score in found.scores.values())
    assert found.scores
    assert found.model


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("500", "server_error"),
        ("429", "rate_limited"),
        ("malformed", "malformed"),
        ("timeout", "timeout"),
        ("reset", "connection"),
        ("garbage", "unreadable"),
        ("empty", "unreadable"),
        ("refusal", "unreadable"),
    ],
)
async def test_a_classifier_that_gives_no_result_is_unavailable(
    classifiers: Classifiers, fault: str, kind: str
) -> None:
    """Never a score; an answer of another shape has its own kind, as the text may have caused it."""
    with pytest.raises(ModerationUnavailable) as caught:
        await classifiers.failing(fault, ModerationUnavailable("no", kind=kind)).classify(
            classifiers.question("hello")
        )

    assert caught.value.kind == kind


async def test_a_text_that_a_classifier_refuses_is_rejected(classifiers: Classifiers) -> None:
    """Asking again cannot help."""
    with pytest.raises(ModerationRejected):
        await classifiers.failing("400", ModerationRejected("no")).classify(classifiers.question("hello"))


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_a_classifier_that_refuses_the_deployment_is_no_outage(
    classifiers: Classifiers, status: int
) -> None:
    """It has its own error, which no failure policy lets pass."""
    error = EndpointMisconfigured("no", cause="key", status=status)
    with pytest.raises(EndpointMisconfigured) as caught:
        await classifiers.failing(str(status), error).classify(classifiers.question("hello"))

    assert caught.value.status == status


@pytest.mark.parametrize("make", [SystemClock, FakeClock])
async def test_a_clock_gives_utc_and_time_that_never_runs_backwards(make: Callable[[], Clock]) -> None:
    """And an identifier of its own for each call."""
    clock = make()
    before, started = clock.now(), clock.monotonic()
    await clock.sleep(0.01)
    ids = {clock.new_id(before) for _ in range(3)}

    assert before.tzinfo is UTC
    assert clock.now() >= before
    assert clock.monotonic() >= started + 0.009
    assert len(ids) == 3


def test_an_identifier_carries_its_time() -> None:
    """To the millisecond: the audit finds a decision by it."""
    at = datetime(2026, 11, 21, 12, 0, 0, 123_456, tzinfo=UTC)
    made = SystemClock().new_id(at)

    assert (made.int >> 80, made.version) == (int(at.timestamp() * 1000), 7)


@pytest.mark.parametrize(
    ("port", "fake"),
    [
        (Moderator, FakeModerator),
        (Classifier, FakeClassifier),
        (LanguageModel, FakeModel),
        (Retriever, FakeRetriever),
        (Conversations, FakeConversations),
        (Clock, FakeClock),
    ],
)
def test_a_fake_has_the_port_s_own_signatures(port: type, fake: type) -> None:
    """Names and order of parameters, so that a changed port breaks here first."""
    names = [name for name in vars(port) if not name.startswith("_")]

    assert names
    for name in names:
        assert list(inspect.signature(getattr(port, name)).parameters) == list(
            inspect.signature(getattr(fake, name)).parameters
        )


@pytest.mark.parametrize("limit", [1, 2, 5])
async def test_fakes_obey_their_limit(limit: int) -> None:
    """As the real ones do, whose own tests stand with the database."""
    lines = tuple(Message(role=MessageRole.USER, text=str(number)) for number in range(3))
    found = await FakeRetriever([(passage(1), passage(2), passage(3))]).search("acme", "hours", limit)

    assert len(found) == min(limit, 3)
    assert not found.degraded
    assert await FakeConversations(lines).history("acme", "c1", limit) == lines[-limit:]
