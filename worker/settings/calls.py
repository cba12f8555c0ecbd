"""The variables of calls to model servers: breakers and concurrent calls."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

import orjson
from pydantic import BeforeValidator, Field
from pydantic_settings import NoDecode

from worker.settings.environment import Environment


class UpstreamKind(StrEnum):
    """What a process calls outside; the calls of each kind have places of their own."""

    MODERATION = "moderation"
    MODEL = "model"
    JUDGE = "judge"
    EMBEDDING = "embedding"
    CLASSIFIER = "classifier"


EXPECTED_PLACES: Final = f"a JSON object, one of {', '.join(UpstreamKind)} -> a number of calls from 1"


def _json(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"expected {EXPECTED_PLACES}") from error


Places = Annotated[
    dict[UpstreamKind, Annotated[int, Field(ge=1, le=100_000)]], NoDecode, BeforeValidator(_json)
]
"""Kind of upstream -> calls at once, written as a JSON object."""


class CallSettings(Environment):
    """How a process protects itself from model servers that fail or hang."""

    breaker_failures: int = Field(
        default=10,
        ge=0,
        le=10_000,
        alias="HUSHGATE_BREAKER_FAILURES",
        description="Failures in a row after which an upstream is not called for a while; 0: always called.",
    )
    breaker_pause_s: float = Field(
        default=2.0,
        gt=0,
        le=600,
        alias="HUSHGATE_BREAKER_PAUSE_S",
        description="Seconds until the first probe of an upstream that failed; doubled after each failed"
        " probe.",
    )
    breaker_longest_pause_s: float = Field(
        default=10.0,
        gt=0,
        le=3600,
        alias="HUSHGATE_BREAKER_LONGEST_PAUSE_S",
        description="Longest pause between two probes, in seconds.",
    )
    concurrent_calls: Places = Field(
        default={},
        alias="HUSHGATE_CONCURRENT_CALLS",
        description='Calls at once per process as a JSON object, such as {"judge": 50}: moderation, model,'
        " judge, embedding, classifier; default: HUSHGATE_IN_FLIGHT, for judge and embedding half of it.",
    )
