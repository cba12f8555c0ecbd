"""Runs Schemathesis against a served application: every check, on the operations of its OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema

from review.api.openapi import openapi_document
from review.http.page_routes import PageRoute
from tests.support.web_server import port_of, web_server

SEED: Final = 20_261_127


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedApi:
    """The routes of the JSON API of an application, and the address where it is served."""

    url: str
    pages: tuple[PageRoute, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Walked:
    """What a run found.

    Attributes:
        failures: one text for each kind of failure of an operation.
        worked: operations that answered 2xx, as method and path.
    """

    failures: tuple[str, ...]
    worked: frozenset[str]


@contextmanager
def served(app: Any) -> Iterator[ServedApi]:
    """Serve an application on loopback."""
    with web_server(app) as server:
        pages = tuple(each for each in app.state.pages if each.api)
        yield ServedApi(url=f"http://127.0.0.1:{port_of(server)}", pages=pages)


def walk(
    api: ServedApi,
    token: str,
    names: Sequence[str],
    *,
    phases: Sequence[str],
    cases: int,
    accepting: Mapping[str, Sequence[int | str]],
    known: Mapping[str, str | int],
) -> Walked:
    """Send generated requests to routes by name; ``cases`` is how many the phase ``fuzzing`` makes of each.

    ``accepting`` has the statuses that a request which fits the description may get, by name; "" for others.
    ``known`` has values that most requests get, by place and name, such as ``path.decision_id``.
    """
    config = SchemathesisConfig.from_dict(
        {
            "seed": SEED,
            "base-url": api.url,
            "continue-on-failure": True,
            "headers": {"Authorization": f"Bearer {token}"},
            "generation": {"max-examples": cases, "database": "none", "no-shrink": True},
            "phases": {
                name: {"enabled": name in phases} for name in ("examples", "coverage", "fuzzing", "stateful")
            },
            "dictionaries": {name.replace(".", "-"): {"values": [value]} for name, value in known.items()},
            "parameters": {
                name: {"dictionary": name.replace(".", "-"), "probability": 0.9} for name in known
            },
            "checks": _accepting(accepting[""]),
            "operations": [
                {
                    "include-operation-id": each.name,
                    "enabled": each.name in names,
                    "checks": _accepting(accepting.get(each.name, accepting[""])) | _refusing(each),
                }
                for each in api.pages
            ],
        }
    )
    schema = schemathesis.openapi.from_dict(openapi_document(api.pages, api.url), config=config)
    failures: dict[tuple[str, str], str] = {}
    worked: set[str] = set()
    for event in from_schema(schema).execute():
        match event:
            case events.ScenarioFinished(recorder=recorder):
                answers = (each.response for each in recorder.interactions.values())
                if any(each is not None and each.status_code < 300 for each in answers):
                    worked.add(recorder.label)
                failures |= dict(_failures(recorder)) | failures
            case events.NonFatalError(value=error) | events.FatalError(exception=error):
                failures["", repr(error)] = repr(error)
    return Walked(failures=tuple(failures.values()), worked=frozenset(worked))


def _accepting(statuses: Sequence[int | str]) -> dict[str, Any]:
    return {"positive_data_acceptance": {"expected-statuses": list(statuses)}}


def _refusing(page: PageRoute) -> dict[str, Any]:
    """207 refuses each wrong element of an array in its own result."""
    statuses = [400, 401, 403, 404, 405, 409, 413, 415, 422, *([207] if page.batch else [])]
    return {"negative_data_rejection": {"expected-statuses": statuses}}


def _failures(recorder: Any) -> Iterator[tuple[tuple[str, str], str]]:
    for case_id, checks in recorder.checks.items():
        for check in checks:
            if check.failure_info is not None:
                sent = recorder.interactions[case_id].request
                asked = f"{sent.method} {sent.uri[:300]} {(sent.body or b'')[:300]!r}"
                failure = check.failure_info.failure
                yield (recorder.label, failure.title), f"{recorder.label}: {failure} {asked}"
