"""The interface of a policy: one value in the policy's module, from which everything else derives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar

from worker.assessment.policies.outcomes import Policy
from worker.assessment.reading.asking import NOTHING, DraftReading, Wanted
from worker.assessment.values import DraftCase, SearchBounds
from worker.model import Assessment, Json

P = TypeVar("P", bound=Policy)
Record = Mapping[str, Json]
"""The diagnostics of an assessment."""
SEARCH: Final = SearchBounds(documents=5, min_similarity=0.0)
"""The search before the first draft, unless a design publishes limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredLimit:
    """A measure of an assessment that a policy compares with one of its thresholds.

    Attributes:
        measure: its name, a page text.
        value: a signal of the assessment, or ``confidence``, ``support``, ``relevance``, ``best_similarity``.
        threshold: a field of the policy.
        effect: what happens from the threshold on, a page text.
        sends: whether a draft needs it to be sent.
        subject: what was measured, a page text.
        category: the category of assessments that this measure decides; then it comes first.
    """

    measure: str
    value: str
    threshold: str
    effect: str
    sends: bool = True
    subject: str = "draft"
    category: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Design(Generic[P]):
    """What a policy can do; the functions get a case and the policy's own settings.

    Attributes:
        name: in an account's JSON.
        summary: what it does, a page text.
        settings: the class of its settings; an account's JSON sets its fields.
        assess: the assessment of a draft; the reading is None when none was wanted.
        wanted: what a judge must read for it.
        early_refusal: the refusal before generation, or None.
        limits: the measures that it compares, the deciding one first.
        rejections: its published reasons against a draft.
        problems: reason against a draft -> a page text.
        thresholds: fields that a condition may set; a higher value is always stricter.
        main_threshold: the field that reviews may move; empty: none.
        published_names: names of fields in the published design -> ours.
        set_in_code: fields that JSON cannot set.
        environment: setting of the deployment -> the field whose default it is.
        nested: field -> name of the design that assesses a draft after this one.
        following: the policy in that field, if it is set.
        models: names of the models that draft together; empty: the account's model alone.
        search: limits of the search before the first draft.
        recheck: limits of the search of a recheck; None: it never rechecks.
        checks_labels: whether it checks labels itself, so that a search must not filter by them.
        published: the message metadata that the design publishes, from diagnostics; None: none.
        log_entry: an entry of the log that the design publishes, from diagnostics; None: none.
        metrics: figures that the design publishes, from the counts of its assessments.
    """

    name: str
    summary: str
    settings: type[P]
    assess: Callable[[DraftCase, P, DraftReading | None], Assessment]
    wanted: Callable[[DraftCase, P], Wanted] = lambda _case, _policy: NOTHING
    early_refusal: Callable[[DraftCase, P], Assessment | None] = lambda _case, _policy: None
    limits: tuple[MeasuredLimit, ...] = ()
    rejections: tuple[str, ...] = ()
    problems: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    thresholds: tuple[str, ...] = ()
    main_threshold: str = ""
    published_names: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    set_in_code: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    nested: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    following: Callable[[P], Policy | None] = lambda _policy: None
    models: Callable[[P], tuple[str, ...]] = lambda _policy: ()
    search: Callable[[P], SearchBounds] = lambda _policy: SEARCH
    recheck: Callable[[P], SearchBounds | None] = lambda _policy: None
    checks_labels: bool = False
    published: Callable[[Record], dict[str, Json] | None] = lambda _record: None
    log_entry: Callable[[Record], dict[str, Json] | None] = lambda _record: None
    metrics: Callable[[Mapping[str, Any]], dict[str, float]] = lambda _counts: {}
