"""Checks in shared requests: each text gets its own result, and one text's failure is its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from worker.adapters import moderation_batches
from worker.adapters.moderation_batches import BatchedChecks, Result
from worker.errors import EndpointMisconfigured, ModerationRejected, ModerationUnavailable
from worker.model import AttemptOutcome, ModerationScores

TEXTS = [f"text {number}" for number in range(40)]


def scores_of(text: str, model: str = "omni") -> ModerationScores:
    """Scores that only this text has."""
    score = int.from_bytes(blake2b(text.encode(), digest_size=4).digest()) / 2**32
    return ModerationScores(scores={"hate": score}, flagged=frozenset(), model=model)


@dataclass
class Endpoint:
    """Answers every request once it is open, or fails it by what is in it."""

    failure: Callable[[Sequence[str]], Exception | None] = lambda _: None
    model: str = "omni"
    asked: list[list[str]] = field(default_factory=list)
    running: int = 0
    open: asyncio.Event = field(default_factory=asyncio.Event)
    second: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, texts: Sequence[str]) -> Sequence[Result]:
        """One request."""
        self.asked.append(list(texts))
        self.running += 1
        if self.running == 2:
            self.second.set()
        try:
            await asyncio.wait_for(self.open.wait(), 5)
        finally:
            self.running -= 1
        if (error := self.failure(texts)) is not None:
            raise error
        return [scores_of(text, self.model) for text in texts]

    @property
    def sizes(self) -> list[int]:
        """Texts of each request."""
        return [len(texts) for texts in self.asked]


def answering(failure: Callable[[Sequence[str]], Exception | None] = lambda _: None) -> Endpoint:
    """An endpoint that answers at once."""
    endpoint = Endpoint(failure=failure)
    endpoint.open.set()
    return endpoint


async def results(checks: BatchedChecks, texts: Sequence[str]) -> list[Result | BaseException]:
    """What each of the texts gets when all are checked at once."""
    return await asyncio.gather(*(checks.scores(text) for text in texts), return_exceptions=True)


async def turns(number: int = 5) -> None:
    """Let the event loop run what is ready; no timer of ours ends meanwhile."""
    for _ in range(number):
        await asyncio.sleep(0)


@given(
    st.lists(st.text(max_size=8), min_size=1, max_size=80), st.integers(1, 32), st.sampled_from([0.0, 60.0])
)
def test_scores_are_those_of_single_checks(texts: list[str], most_texts: int, reuse_s: float) -> None:
    """Whatever comes together, in any size of batch, with or without reuse."""

    async def run() -> list[Result | BaseException]:
        checks = BatchedChecks(answering(), most_texts=most_texts, reuse_s=reuse_s)
        return await results(checks, texts)

    assert asyncio.run(run()) == [scores_of(text) for text in texts]


async def test_concurrent_checks_share_requests() -> None:
    """No request has more texts than allowed, or more characters."""
    endpoint = answering()
    checks = BatchedChecks(endpoint, most_texts=32)
    await results(checks, TEXTS)
    await results(checks, ["x" * 20_000] * 5)

    assert endpoint.sizes == [32, 8, 2, 2, 1]


async def test_a_check_on_an_idle_endpoint_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does one that comes after a pause while a request is under way."""
    now_s = 0.0
    monkeypatch.setattr(moderation_batches, "_now_s", lambda: now_s)
    monkeypatch.setattr(moderation_batches, "WAIT_S", 60.0)
    endpoint = Endpoint()
    checks = BatchedChecks(endpoint)
    asked = []
    for number in range(3):
        asked.append(asyncio.create_task(checks.scores(f"{number}")))
        await turns()
        assert endpoint.running == number + 1
        now_s += 61.0
    endpoint.open.set()
    await asyncio.gather(*asked)

    assert endpoint.sizes == [1, 1, 1]


async def test_checks_that_follow_closely_are_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are sent together as soon as nothing is under way."""
    monkeypatch.setattr(moderation_batches, "WAIT_S", 60.0)
    endpoint = Endpoint()
    checks = BatchedChecks(endpoint)
    asked = [asyncio.create_task(checks.scores("first"))]
    await turns()
    for text in TEXTS[:5]:
        asked.append(asyncio.create_task(checks.scores(text)))
        await asyncio.sleep(0)
    endpoint.open.set()
    found = await asyncio.gather(*asked)

    assert endpoint.sizes == [1, 5]
    assert found == [scores_of(text) for text in ("first", *TEXTS[:5])]


async def test_collected_checks_wait_for_a_moment_only() -> None:
    """Then they are sent beside the request that is still under way."""
    endpoint = Endpoint()
    checks = BatchedChecks(endpoint)
    asked = [asyncio.create_task(checks.scores("first"))]
    await turns()
    asked += [asyncio.create_task(checks.scores(text)) for text in TEXTS[:5]]
    await asyncio.wait_for(endpoint.second.wait(), 5)
    endpoint.open.set()
    await asyncio.gather(*asked)

    assert endpoint.sizes == [1, 5]


async def test_equal_texts_are_asked_about_once() -> None:
    """While the first is under way, and as long as its result is reused."""
    endpoint = answering()
    checks = BatchedChecks(endpoint, reuse_s=60)
    await results(checks, ["same"] * 5)
    await results(checks, ["same", "other"])

    assert endpoint.asked == [["same"], ["other"]]


async def test_a_result_is_not_reused_longer_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor after the endpoint answered with another model."""
    now_s = 0.0
    monkeypatch.setattr(moderation_batches, "_now_s", lambda: now_s)
    endpoint = answering()
    checks = BatchedChecks(endpoint, reuse_s=60)
    await checks.scores("same")
    now_s = 59.0
    await checks.scores("same")
    now_s = 61.0
    await checks.scores("same")
    endpoint.model = "omni 2"
    await checks.scores("other")
    found = await checks.scores("same")

    assert endpoint.asked == [["same"], ["same"], ["other"], ["same"]]
    assert found.model == "omni 2"


async def test_no_result_is_reused_where_that_is_switched_off() -> None:
    """Every text is asked about."""
    endpoint = answering()
    checks = BatchedChecks(endpoint)
    await results(checks, ["same"] * 3)

    assert endpoint.asked == [["same"] * 3]


def poisoned(error: Exception) -> Callable[[Sequence[str]], Exception | None]:
    """Fails every request with the text ``bad``."""
    return lambda texts: error if "bad" in texts else None


REJECTED = ModerationRejected("400")
BROKEN = ModerationUnavailable("500", kind=AttemptOutcome.SERVER_ERROR)
TIMEOUT = ModerationUnavailable("late", kind=AttemptOutcome.TIMEOUT)
BUSY = ModerationUnavailable("503", kind=AttemptOutcome.SERVER_ERROR, retry_after_s=1.0)
LIMITED = ModerationUnavailable("429", kind=AttemptOutcome.RATE_LIMITED)
NO_KEY = EndpointMisconfigured("401", cause="key")


@pytest.mark.parametrize("error", [REJECTED, BROKEN])
async def test_a_text_that_fails_a_request_costs_the_others_nothing(error: Exception) -> None:
    """Each is asked about alone in the same attempt; a text that failed stays alone."""
    endpoint = answering(poisoned(error))
    checks = BatchedChecks(endpoint)
    found = await results(checks, ["bad", *TEXTS[:3]])
    endpoint.asked.clear()
    await results(checks, ["bad", *TEXTS[:3]])

    assert found == [error, *(scores_of(text) for text in TEXTS[:3])]
    assert endpoint.asked == [["bad"], TEXTS[:3]]


@pytest.mark.parametrize("error", [TIMEOUT, BUSY, LIMITED, NO_KEY])
async def test_a_failure_of_the_server_is_one_failed_attempt_of_each(error: Exception) -> None:
    """No further request is made within the attempt."""
    endpoint = answering(lambda _: error)
    found = await results(BatchedChecks(endpoint), TEXTS[:5])

    assert (found, endpoint.sizes) == ([error] * 5, [5])


async def test_after_a_timeout_each_text_is_asked_about_alone() -> None:
    """The one that caused it cannot hold the others a second time; afterwards they share requests again."""
    endpoint = answering(poisoned(TIMEOUT))
    checks = BatchedChecks(endpoint)
    first, again = [await results(checks, ["bad", *TEXTS[:2]]) for _ in range(2)]
    await results(checks, TEXTS[:2])

    assert (first, again) == ([TIMEOUT] * 3, [TIMEOUT, *(scores_of(text) for text in TEXTS[:2])])
    assert endpoint.sizes == [3, 1, 1, 1, 2]


async def test_an_endpoint_that_takes_smaller_batches_gets_them() -> None:
    """It refused a batch whose texts it took one by one; the log says so."""
    endpoint = answering(lambda texts: REJECTED if len(texts) > 4 else None)
    checks = BatchedChecks(endpoint)
    with capture_logs() as lines:
        found = [await results(checks, TEXTS[:8]) for _ in range(2)]

    assert found == [[scores_of(text) for text in TEXTS[:8]]] * 2
    assert endpoint.sizes == [8, *[1] * 8, 4, 4]
    assert [(line["event"], line["most_texts"]) for line in lines] == [("moderation_batch_refused", 4)]


async def test_one_unusable_result_is_the_failure_of_its_text() -> None:
    """The others keep theirs."""
    unusable = ModerationUnavailable("no scores", kind=AttemptOutcome.MALFORMED)

    async def ask(texts: Sequence[str]) -> Sequence[Result]:
        return [unusable if text == "bad" else scores_of(text) for text in texts]

    assert await results(BatchedChecks(ask), ["bad", "good"]) == [unusable, scores_of("good")]


async def test_a_caller_that_leaves_takes_nothing_from_the_others() -> None:
    """A text without a waiting caller is not sent, and a request without one is cancelled."""
    endpoint = Endpoint()
    checks = BatchedChecks(endpoint, reuse_s=60)
    leaving, staying = (asyncio.create_task(checks.scores("same")) for _ in range(2))
    await turns()
    never_sent = asyncio.create_task(checks.scores("never sent"))
    await asyncio.sleep(0)
    for task in (leaving, never_sent):
        task.cancel()
    await asyncio.wait([leaving, never_sent])
    assert endpoint.running == 1
    staying.cancel()
    await asyncio.wait([staying])
    await turns()

    assert (endpoint.asked, endpoint.running) == ([["same"]], 0)


async def test_a_bug_reaches_every_caller() -> None:
    """No caller waits for a result that never comes."""
    bug = RuntimeError("bug")
    found = await results(BatchedChecks(answering(lambda _: bug)), TEXTS[:3])

    assert found == [bug] * 3
