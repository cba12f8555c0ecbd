"""``hushgate doctor``: are the endpoints OpenAI-compatible APIs, and do they list our models?"""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final
from urllib.parse import urlsplit

from cli.doctor.check import CheckState, DoctorCheck, warned
from worker.adapters.api_errors import ApiConnectionError, ApiError, ApiStatusError, ProxyUnusable
from worker.adapters.openai_client import NO_KEY
from worker.adapters.openai_http import ApiClient, model_names
from worker.adapters.vendor_failures import call_failure
from worker.settings import ModelServer, Settings, classifier_key

REACH_S: Final = 10.0
SHOWN_MODELS: Final = 3
LIVE: Final = "hushgate doctor --live makes a real call"
PROXY_FIX: Final = "correct the variable of the proxy"
CALL_PATHS: Final = ("/chat/completions", "/moderations", "/embeddings")
"""Paths that people copy from a vendor's page into the base URL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One base URL and the models that are called there.

    Attributes:
        check: the name of its line.
        variable: the variable that holds the URL.
        key_variable: the variable that holds the key.
        models: variable and name of each model that is called there.
        meanwhile: what happens to events while the endpoint does not work.
    """

    check: str
    variable: str
    url: str
    key_variable: str
    key: str
    models: tuple[tuple[str, str], ...]
    meanwhile: str


class NoModelList(Exception):
    """The answer to GET /models is not a list of models; the message describes the answer."""


def model_endpoint(settings: Settings) -> Endpoint:
    """The endpoint of the models that write drafts, and of the judge where it is the same server."""
    servers = settings.servers
    models = [(servers.model.named_by.variable, servers.model.model)]
    if servers.judge is not None and servers.judge.place == servers.model.place:
        models.append((servers.judge.named_by.variable, servers.judge.model))
    models += [(f"HUSHGATE_MODELS {name}", model) for name, model in settings.further_models.items()]
    meanwhile = "events that need it get no reply (LLM_ERROR; LLM_REJECTED when it refuses the key)"
    return _endpoint("model endpoint", servers.model, dict(models), meanwhile)


def judge_endpoint(settings: Settings) -> Endpoint | None:
    """The endpoint of the judge; None without a judge."""
    if (judge := settings.servers.judge) is None:
        return None
    meanwhile = "drafts that are not copied from a passage wait for people (HELD_UNREAD)"
    return _endpoint("judge endpoint", judge, {judge.named_by.variable: judge.model}, meanwhile)


def moderation_endpoint(settings: Settings) -> Endpoint | None:
    """The endpoint of the moderation API; None when moderation is switched off."""
    if (server := settings.servers.moderation) is None:
        return None
    meanwhile = "events end as each account's moderation_failure says; with a refused key none passes"
    return _endpoint("moderation endpoint", server, {server.named_by.variable: server.model}, meanwhile)


def embeddings_endpoint(settings: Settings) -> Endpoint | None:
    """The endpoint of the embedding model; None when no setting names one."""
    place = settings.servers.embeddings
    if place is None or not place.model:
        return None
    models = {place.named_by.variable: place.model}
    return _endpoint("embedding endpoint", place, models, "searches use words only")


def _endpoint(check: str, server: ModelServer, models: Mapping[str, str], meanwhile: str) -> Endpoint:
    return Endpoint(
        check=check,
        variable=server.url_variable,
        url=server.url,
        key_variable=server.key_variable,
        key=server.key or NO_KEY,
        models=tuple(models.items()),
        meanwhile=meanwhile,
    )


def classifier_endpoints(settings: Settings) -> Iterator[tuple[str, Endpoint]]:
    """The classifiers of the deployment, by name."""
    for name, each in settings.classifiers.items():
        yield (
            name,
            Endpoint(
                check=f"classifier {name}",
                variable=f"HUSHGATE_CLASSIFIERS {name}.base_url",
                url=each.base_url,
                key_variable=f"HUSHGATE_CLASSIFIER_KEYS {name}",
                key=classifier_key(settings, name) or NO_KEY,
                models=((f"HUSHGATE_CLASSIFIERS {name}.model", each.model),),
                meanwhile="events of accounts that chose it end as their failure policy says;"
                " with a refused key none passes",
            ),
        )


def listed_models(settings: Settings) -> Iterator[DoctorCheck]:
    """Whether each endpoint lists the models that the settings name."""
    model, judge = model_endpoint(settings), judge_endpoint(settings)
    if model.url and not settings.moderates:
        yield _no_moderation_check(settings)
    for endpoint in (
        model if model.url else None,
        None if judge is None or (judge.url, judge.key) == (model.url, model.key) else judge,
        moderation_endpoint(settings),
        embeddings_endpoint(settings),
        *(endpoint for _, endpoint in classifier_endpoints(settings)),
    ):
        if endpoint is not None:
            yield endpoint_check(endpoint)


def _no_moderation_check(settings: Settings) -> DoctorCheck:
    """The line of a deployment without a moderation API; its classifiers may moderate."""
    names = ", ".join(settings.classifiers)
    found = f"no moderation API; accounts can choose {names}" if names else "off: no text is moderated"
    fix = "set HUSHGATE_MODERATION_URL and HUSHGATE_MODERATION_KEY to a server that moderates"
    return warned("moderation", found, fix, unless=bool(names))


def endpoint_check(endpoint: Endpoint, reach_s: float = REACH_S) -> DoctorCheck:
    """Whether the endpoint lists the models; ``reach_s`` is the longest wait for its answer."""
    try:
        return _models_check(endpoint, _models(endpoint.url, endpoint.key, reach_s))
    except NoModelList as error:
        return _no_list_check(endpoint, str(error), not_found=False)
    except ApiStatusError as error:
        return _refused_check(endpoint, error)
    except ProxyUnusable as error:
        found = f"{endpoint.url} is not called; {error}"
        return _check(endpoint, "fail", found, f"{PROXY_FIX}; meanwhile {endpoint.meanwhile}")
    except (ApiConnectionError, TimeoutError) as error:
        fix = f"check {endpoint.variable} and the network; meanwhile {endpoint.meanwhile}"
        return _check(endpoint, "fail", f"{endpoint.url} does not answer: {call_failure(error).message}", fix)


def _refused_check(endpoint: Endpoint, error: ApiStatusError) -> DoctorCheck:
    """The check when the endpoint refuses GET /models."""
    if error.status in {401, 403}:
        found = f"{endpoint.url}: HTTP {error.status}"
        fix = f"set {endpoint.key_variable} to a key that the endpoint accepts"
        return _check(endpoint, "fail", found, fix)
    if error.status == 404:
        return _no_list_check(endpoint, _kind(404, error.headers, str(error.body)), not_found=True)
    found = f"{endpoint.url}/models: HTTP {error.status}"
    return _check(endpoint, "warn", found, f"the models were not checked; {LIVE}")


def _models_check(endpoint: Endpoint, listed: frozenset[str]) -> DoctorCheck:
    missing = [(variable, name) for variable, name in endpoint.models if not _has(listed, name)]
    found = f"{endpoint.url} lists {len(listed)} models"
    if not missing:
        return _check(endpoint, "ok", f"{found}, {', '.join(name for _, name in endpoint.models)} among them")
    shown = ", ".join(f"{variable} {name!r}" for variable, name in missing)
    names = sorted(listed)
    near = difflib.get_close_matches(missing[0][1], names, n=SHOWN_MODELS) or names[:SHOWN_MODELS]
    fix = f"set {missing[0][0]} to a listed model, such as {', '.join(near) or 'none listed'}; {LIVE}"
    return _check(endpoint, "warn", f"{found}, without {shown}", fix)


def _has(listed: frozenset[str], name: str) -> bool:
    """True when the list has the model: by name, without a variant after the colon, or by a pattern."""
    base = name.partition(":")[0]
    return not listed.isdisjoint({name, base, f"{name}:latest"}) or any(
        fnmatchcase(name, pattern) for pattern in listed if "*" in pattern
    )


def _no_list_check(endpoint: Endpoint, answered: str, *, not_found: bool) -> DoctorCheck:
    """The check when GET /models gives no list: another path, no API at all, or an API without a list."""
    if (better := _better_url(endpoint)) is not None:
        found = f"{endpoint.url} is not an OpenAI-compatible API, {better} is one"
        return _check(endpoint, "fail", found, f"set {endpoint.variable}={better}")
    found = f"{endpoint.url}/models: expected a list of models, got {answered}"
    if not_found and answered != HTML and urlsplit(endpoint.url).path.strip("/"):
        return _check(endpoint, "warn", found, f"the models were not checked; {LIVE}")
    fix = f"set {endpoint.variable} to the base URL of an OpenAI-compatible API; most end in /v1"
    return _check(endpoint, "fail", f"{found}; meanwhile {endpoint.meanwhile}", fix)


def _better_url(endpoint: Endpoint) -> str | None:
    """A similar base URL that lists models."""
    url = endpoint.url.rstrip("/")
    shorter = [url.removesuffix(path) for path in CALL_PATHS if url.endswith(path)]
    for candidate in (f"{url}/v1", *shorter):
        try:
            _models(candidate, endpoint.key)
        except (ApiError, TimeoutError, NoModelList):
            continue
        return candidate
    return None


def _models(url: str, key: str, reach_s: float = REACH_S) -> frozenset[str]:
    """The names that GET /models lists.

    Raises:
        ApiError, TimeoutError: an HTTP error, or no answer.
        NoModelList: the answer is not a list of models.
    """
    return asyncio.run(_listed(url, key, reach_s))


async def _listed(url: str, key: str, reach_s: float) -> frozenset[str]:
    async with ApiClient(url, key, connections=1) as client, asyncio.timeout(reach_s):
        found = await client.get("/models")
    try:
        return model_names(found)
    except ValueError as error:
        raise NoModelList(_kind(200, found.headers, found.content.decode(errors="replace"))) from error


HTML: Final = "an HTML page"


def _kind(status: int, headers: Mapping[str, str], content: str) -> str:
    """What the server answered, in words."""
    kind = headers.get("content-type", "").partition(";")[0].strip()
    if "html" in kind or content.lstrip()[:1] == "<":
        return HTML
    return f"HTTP {status} with {kind}" if kind else f"HTTP {status}"


def _check(endpoint: Endpoint, state: CheckState, found: str, fix: str = "") -> DoctorCheck:
    return DoctorCheck(check=endpoint.check, state=state, found=found, fix=fix)
