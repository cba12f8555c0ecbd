"""The fuzz targets, one module a kind of input."""

from __future__ import annotations

from typing import Final

from fuzz.target import Target
from fuzz.targets import completions, documents, payloads, queries, receiver, rules

TARGETS: Final[tuple[Target, ...]] = (
    *payloads.TARGETS,
    *receiver.TARGETS,
    *rules.TARGETS,
    *completions.TARGETS,
    *documents.TARGETS,
    *queries.TARGETS,
)
BY_NAME: Final = {target.name: target for target in TARGETS}
