"""The variables of calls to model servers: breakers and concurrent calls."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from functools import partial
from typing import Annotated, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_settings import NoDecode

from worker.json_variables import json_value
from worker.settings.environment import Environment


class UpstreamKind(StrEnum):
    """What a process calls outside; the calls of each kind have places of their own."""

    MODERATION = "moderation"
    MODEL = "model"
    JUDGE = "judge"
    EMBEDDING = "embedding"
    CLASSIFIER = "classifier"


EXPECTED_PLACES: Final = f"a JSON object, one of {', '.join(UpstreamKind)} -> a number of calls from 1"

CallPlaces = Annotated[
    dict[UpstreamKind, Annotated[int, Field(ge=1, le=100_000)]],
    NoDecode,
    BeforeValidator(partial(json_value, expected=EXPECTED_PLACES)),
]
"""Kind of upstream -> calls at once, written as a JSON object."""


EXPECTED_LIMITS: Final = (
    f'a JSON object, one of {", ".join(UpstreamKind)} -> {{"requests": ..., "tokens": ...}}, each a minute'
)


class Resource(StrEnum):
    """What model servers count in a minute."""

    REQUESTS = "requests"
    TOKENS = "tokens"


PerMinute = Annotated[int, Field(ge=1, le=1_000_000_000)]


class DeclaredLimits(BaseModel):
    """The limits of one kind of upstream, for the whole fleet."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    requests: PerMinute | None = None
    tokens: PerMinute | None = None

    def by_resource(self) -> Iterator[tuple[Resource, int]]:
        """Each declared limit with its resource."""
        for resource, limit in ((Resource.REQUESTS, self.requests), (Resource.TOKENS, self.tokens)):
            if limit is not None:
                yield resource, limit


LimitsByKind = Annotated[
    dict[UpstreamKind, DeclaredLimits],
    NoDecode,
    BeforeValidator(partial(json_value, expected=EXPECTED_LIMITS)),
]
"""Kind of upstream -> limits, written as a JSON object."""


class CallSettings(Environment):
    """How a process protects itself from model servers that fail or hang."""

    concurrent_calls: CallPlaces = Field(default={})
    """Calls at once per process as a JSON object, such as {"judge": 50}: moderation, model, judge, embedding,
    classifier; default: HUSHGATE_IN_FLIGHT, for judge and embedding half of it."""
    limits: LimitsByKind = Field(default={})
    """Limits of upstreams over the whole fleet, each a minute, as a JSON object such as {"model":
    {"requests": 500, "tokens": 200000}}: moderation, model, judge, embedding, classifier. Limits that a
    server names in its answers are followed too; see docs/limits.md."""
