"""``hushgate doctor --live``: one real, paid call of each kind, with the models that the settings name."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from cli.doctor.check import DoctorCheck, failed, passed
from cli.doctor.embedding import embedding_check
from cli.doctor.endpoints import PROXY_FIX, Endpoint, classifier_endpoints, moderation_endpoint
from cli.doctor.live_models import SHOWN_CHARS, LiveCheck, model_checks
from worker.adapters import openai_client
from worker.adapters.api_errors import ApiError
from worker.adapters.chat_classifier import request_body, scores_of
from worker.adapters.moderation_results import scores_of_result
from worker.adapters.vendor_failures import KEY, QUOTA, VendorFailure, failure
from worker.classifiers.endpoints import ClassifierEndpoint
from worker.classifiers.formats import FORMATS
from worker.classifiers.prompts import ClassifierQuestion
from worker.errors import ModerationUnavailable
from worker.model import ModerationScores
from worker.settings import ModelRole, Settings

POLICY: Final = "A text violates this policy when it insults a person."
TEXT: Final = "Hello"
"""The text of every call: one token for most models."""
MOST_S: Final = 20.0
"""Longest time limit of a call for which a person waits at a page."""


class UnreadableAnswer(LookupError):
    """A classifier's answer without a shape of its format; the message says what is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One real call.

    Attributes:
        check: the name of its line.
        variable: the variable that names the model.
        holding: a field that every answer has.
        read: the answer in words; raises LookupError or TypeError when it is not an answer of this API.
    """

    check: str
    endpoint: Endpoint
    variable: str
    model: str
    path: str
    body: Mapping[str, object]
    timeout_s: float
    holding: str
    read: Callable[[Any], str]


def live_calls(settings: Settings) -> Iterator[DoctorCheck]:
    """The lines one after the other."""
    for check in _live_checks(settings):
        yield asyncio.run(check())


def live_calls_at_once(settings: Settings) -> tuple[DoctorCheck, ...]:
    """The same lines; a server that does not answer delays them by one time limit, at most ``MOST_S``."""
    limits = {
        name: min(getattr(settings, name), MOST_S) for name in ("model_timeout_s", "moderation_timeout_s")
    }
    classifiers = {
        name: each.model_copy(update={"timeout_s": min(each.timeout_s, MOST_S)})
        for name, each in settings.classifiers.items()
    }
    return asyncio.run(_at_once(settings.model_copy(update=limits | {"classifiers": classifiers})))


async def _at_once(settings: Settings) -> tuple[DoctorCheck, ...]:
    return tuple(await asyncio.gather(*(check() for check in _live_checks(settings))))


def _live_checks(settings: Settings) -> Iterator[LiveCheck]:
    """The calls of models, one each of moderation and classifiers, and of a set embedding model."""
    yield from model_checks(settings, _fix)
    if (moderation := moderation_endpoint(settings)) is not None:
        yield partial(_call_check, _moderation_call(moderation, settings))
    for name, endpoint in classifier_endpoints(settings):
        yield partial(_call_check, _classifier_call(endpoint, settings.classifiers[name]))
    if settings.servers.embeddings is not None:
        yield partial(embedding_check, settings, settings.servers.embeddings)


def _moderation_call(endpoint: Endpoint, settings: Settings) -> Call:
    ((_, model),) = endpoint.models
    return Call(
        check="live moderation call",
        endpoint=endpoint,
        variable="HUSHGATE_MODERATION",
        model=model,
        path="/moderations",
        body={"model": model, "input": TEXT},
        timeout_s=settings.moderation_timeout_s,
        holding="results",
        read=_categories,
    )


def _classifier_call(endpoint: Endpoint, declared: ClassifierEndpoint) -> Call:
    ((variable, model),) = endpoint.models
    policy = POLICY if FORMATS[declared.format].reads_policy else ""
    return Call(
        check=f"live {endpoint.check} call",
        endpoint=endpoint,
        variable=variable,
        model=model,
        path="/chat/completions",
        body=request_body(ClassifierQuestion(text=TEXT, policy=policy), declared),
        timeout_s=declared.timeout_s,
        holding="choices",
        read=partial(_classified, declared=declared),
    )


async def _call_check(call: Call) -> DoctorCheck:
    """Make the call and check the answer."""
    called = f"{call.model} at {call.endpoint.url}"
    client = openai_client.client(call.endpoint.url, call.endpoint.key, connections=1)
    started = time.monotonic()
    try:
        document = await openai_client.answer(
            client, call.path, call.body, call.timeout_s, holding=call.holding
        )
        result = call.read(document)
    except (ApiError, TimeoutError, ValueError, LookupError, TypeError, AttributeError) as error:
        known = failure(error)
        found = f"{called}: {_shown(error, known)}"
        status, kind = (known.status, known.cause or str(known.kind)) if known else (None, "")
        return failed(call.check, found, _fix(call.endpoint, call.variable, status, kind))
    finally:
        await client.close()
    found = f"{called} answered in {(time.monotonic() - started) * 1000:.0f} ms: {result}"
    return passed(call.check, found)


def _shown(error: Exception, known: VendorFailure | None) -> str:
    if isinstance(error, UnreadableAnswer):
        return str(error)
    if known is None or known.kind == "malformed":
        return f"not an answer of this API ({type(error).__name__})"
    return known.message[:SHOWN_CHARS]


def _fix(endpoint: Endpoint, variable: str, status: int | None, kind: str) -> str:
    """What to correct, and what happens to events until then."""
    meanwhile = f"meanwhile {endpoint.meanwhile}"
    if kind == "proxy":
        return f"{PROXY_FIX}; {meanwhile}"
    if status in KEY:
        return f"set {endpoint.key_variable} to a key that the endpoint accepts; {meanwhile}"
    if status is not None and 300 <= status < 400:
        return f"set {endpoint.variable} to the address that this server redirects to; {meanwhile}"
    if status in QUOTA:
        return f"check the quota and the rate limits of {endpoint.key_variable}; {meanwhile}"
    if kind in {"timeout", "connection", "server_error"} and status != 501:
        return f"check {endpoint.variable} and the network, or ask the provider; {meanwhile}"
    off = ", or set HUSHGATE_MODERATION=off" if variable == ModelRole.MODERATION.variable else ""
    return f"check {variable} and {endpoint.variable}{off}; {meanwhile}"


def _classified(answer: Any, *, declared: ClassifierEndpoint) -> str:
    """The score of the text.

    Raises:
        UnreadableAnswer: the answer has no shape of this format.
    """
    try:
        found = scores_of(answer, declared, POLICY)
    except ModerationUnavailable as error:
        raise UnreadableAnswer(str(error)) from error
    scores = ", ".join(f"{name} {score:.2f}" for name, score in found.scores.items())
    return f"{scores}; {found.tokens.prompt} + {found.tokens.completion} tokens"


def _categories(answer: Any) -> str:
    """How many categories were scored.

    Raises:
        LookupError, TypeError, AttributeError, ValueError: the answer holds no usable scores.
    """
    found = scores_of_result(answer["results"][0], "")
    if not isinstance(found, ModerationScores):
        raise LookupError(str(found))  # noqa: TRY004  # as any other answer without scores
    return f"{len(found.scores)} categories"
