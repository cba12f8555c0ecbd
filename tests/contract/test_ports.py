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
from worker.model import Completion, Message, MessageRole, ModerationScores, Prompt
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


MODELS = {
    ClassifierFormat.POLICY: "gpt-oss-safeguard-20b",
    ClassifierFormat.LLAMA_GUARD: "Llama-Guard-4-12B",
    ClassifierFormat.QWEN3GUARD: "Qwen/Qwen3Guard-Gen-8B",
    ClassifierFormat.SHIELDGEMMA: "shieldgemma:9b",
}
MODERATORS = ("moderation API", "fake moderation API")
JUDGES = (*MODERATORS, *ClassifierFormat, "fake classifier")


class Judges:
    """A moderation API, or a classifier of a format, that answers or fails in a named way; real or fake."""

    def __init__(self, sandbox: SandboxHandle, client: Any) -> None:
        self._sandbox, self._client = sandbox, client

    async def judge(
        self, kind: str, text: str = "hello", fault: str | None = None, error: Exception | None = None
    ) -> ModerationScores:
        """The result of a call that meets this fault; none to answer."""
        if fault and not kind.startswith("fake"):
            self._sandbox.add_rule("moderations" if kind in MODERATORS else "classifier", fault)
        if kind in MODERATORS:
            real = OpenAIModerator(self._client, model="omni", timeout_s=5)
            moderator: Moderator = FakeModerator([error or CLEAN]) if kind.startswith("fake") else real
            return await moderator.moderate(text, ())
        if kind.startswith("fake"):
            return await FakeClassifier([error or CLEAN]).classify(ClassifierQuestion(text=text))
        form = ClassifierFormat(kind)
        policy = "No insults." if FORMATS[form].reads_policy else ""
        endpoint = ClassifierEndpoint(
            base_url=self._sandbox.base_url, model=MODELS[form], format=form, timeout_s=2
        )
        classifier = ChatClassifier(self._client, name=kind, endpoint=endpoint)
        return await classifier.classify(ClassifierQuestion(text=text, policy=policy))


@pytest.fixture
async def judges(sandbox: SandboxHandle) -> AsyncIterator[Judges]:
    """All of them, on one client."""
    async with openai_client.client(sandbox.base_url, "key", connections=4) as client:
        yield Judges(sandbox, client)


@pytest.fixture(params=[REAL, FAKE])
async def models(sandbox: SandboxHandle, request: pytest.FixtureRequest) -> AsyncIterator[Models]:
    """Both kinds."""
    async with openai_client.client(sandbox.base_url, "key", connections=4) as client:
        yield Models(request.param, sandbox, client)


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


@pytest.mark.parametrize("kind", JUDGES)
async def test_a_result_has_a_score_for_each_flagged_category(judges: Judges, kind: str) -> None:
    """All scores 0..1, and a model's name."""
    found = await judges.judge(kind, "When are you open?")

    assert found.flagged <= found.scores.keys()
    assert all(0 <= score <= 1 for score in found.scores.values())
    assert found.scores
    assert found.model


OUTAGES = [("500", "server_error"), ("429", "rate_limited"), ("malformed", "malformed")]
UNREADABLE = [
    *(("timeout", "timeout"), ("reset", "connection")),
    *((fault, "unreadable") for fault in ("garbage", "empty", "refusal")),
]


@pytest.mark.parametrize(
    ("kind", "fault", "expected"),
    [
        (kind, *outage)
        for kind in JUDGES
        for outage in (OUTAGES if kind in MODERATORS else OUTAGES + UNREADABLE)
    ],
)
async def test_a_judge_that_gives_no_result_is_unavailable(
    judges: Judges, kind: str, fault: str, expected: str
) -> None:
    """Never a score; a classifier's odd answer has its own kind, as the text may have caused it."""
    with pytest.raises(ModerationUnavailable) as caught:
        await judges.judge(kind, fault=fault, error=ModerationUnavailable("no", kind=expected))

    assert caught.value.kind == expected


@pytest.mark.parametrize("kind", JUDGES)
async def test_an_input_nobody_can_judge_is_rejected(judges: Judges, kind: str) -> None:
    """Asking again cannot help."""
    with pytest.raises(ModerationRejected):
        await judges.judge(kind, fault="400", error=ModerationRejected("no"))


@pytest.mark.parametrize("kind", JUDGES)
@pytest.mark.parametrize("status", [401, 403, 404])
async def test_a_refused_deployment_is_no_outage(judges: Judges, kind: str, status: int) -> None:
    """It has its own error, which no failure policy lets pass."""
    error = EndpointMisconfigured("no", cause="key", status=status)
    with pytest.raises(EndpointMisconfigured) as caught:
        await judges.judge(kind, fault=str(status), error=error)

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
