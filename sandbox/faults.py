"""Faults on demand, and the pure function that plans a call."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from sandbox.latency import NO_LATENCY, Latency, drawn_seconds, parse_seconds
from sandbox.routes import ROUTE_NAMES, BadRequest, Route

RETRY_AFTER_S = 2.0
"""Default ``Retry-After`` of a 429, in seconds; the first backoff step of the worker."""

MARKER_START = "[[sandbox:"
MARKER = re.compile(r"\[\[sandbox:([^\[\]]*)\]\]")
MARKER_BODY = re.compile(r"(?P<route>\w+)=(?P<kind>\w+)(?:=(?P<value>[^:]+))?(?::(?P<times>[1-9]\d{0,5}))?")


class FaultKind(StrEnum):
    """The kind of a fault. ``STATUS`` is written as the status itself (``429``, ``500`` ...)."""

    STATUS = "status"
    HANG = "hang"
    RESET = "reset"
    MALFORMED = "malformed"
    EMPTY = "empty"
    BAD_TOOL = "bad_tool"
    TOOL_LOOP = "tool_loop"
    REFUSAL = "refusal"
    FLAGGED = "flagged"
    KEYWORD = "keyword"
    UNGROUNDED = "ungrounded"
    IRRELEVANT = "irrelevant"
    INJECTED = "injected"
    SCORE = "score"
    GARBAGE = "garbage"
    FORM = "form"


ANY_ROUTE = frozenset(
    {
        FaultKind.STATUS,
        FaultKind.HANG,
        FaultKind.RESET,
        FaultKind.MALFORMED,
        FaultKind.EMPTY,
        FaultKind.FORM,
    }
)
KINDS_BY_ROUTE: Mapping[Route, frozenset[FaultKind]] = {
    Route.CHAT: frozenset(FaultKind) - {FaultKind.SCORE, FaultKind.GARBAGE},
    Route.JUDGE: ANY_ROUTE | {FaultKind.REFUSAL, FaultKind.UNGROUNDED, FaultKind.SCORE},
    Route.CLASSIFIER: ANY_ROUTE | {FaultKind.REFUSAL, FaultKind.FLAGGED, FaultKind.SCORE, FaultKind.GARBAGE},
    Route.MODERATIONS: ANY_ROUTE | {FaultKind.FLAGGED},
    Route.EMBEDDINGS: ANY_ROUTE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxFault:
    """One fault of a call.

    Attributes:
        status: HTTP status when the kind is ``STATUS``, else 200.
        value: the word of ``keyword``, the name of ``form``, the category of ``flagged``, the number of
            ``score``, or empty.
        retry_after_s: value of ``Retry-After``, or None for no header.
    """

    kind: FaultKind
    status: int = 200
    value: str = ""
    retry_after_s: float | None = None

    @property
    def outcome(self) -> str:
        """The outcome under which the fault is counted: the status, or the kind."""
        return str(self.status) if self.kind is FaultKind.STATUS else str(self.kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """An instruction inside a text: a fault for the first ``times`` calls (None: all), or a delay."""

    route: Route
    fault: SandboxFault | None = None
    delay_s: float | None = None
    times: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRule:
    """A fault for calls of one route.

    Attributes:
        rule_id: ``s1`` for a rule of the scenario, ``r1`` for one set at run time.
        contains: only calls about a text that contains this; empty means every call.
        probability: 0..1, share of the calls that fail.
        times: how many more calls fail, or None for no limit.
    """

    rule_id: str
    route: Route
    fault: SandboxFault
    contains: str = ""
    probability: float = 1.0
    times: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRules:
    """The faults in force, of which the first match counts, and one latency per route."""

    faults: tuple[FaultRule, ...] = ()
    latency: Mapping[Route, Latency] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFacts:
    """The input of ``call_plan``.

    Attributes:
        text: what the call is about: the last user message, or the moderated or embedded text.
        seen: number of earlier calls of this route with the same text.
        place: of the text in its call, from 0. Latency, and rules for any text that fail a whole call, are
            for the call: they apply at place 0 only.
    """

    route: Route
    text: str
    seen: int = 0
    place: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPlan:
    """The plan of a call: wait, then fail or answer.

    Attributes:
        rule_id: id of the matching rule, or None.
        faults: of each text, for a call about several.
    """

    delay_s: float = 0.0
    fault: SandboxFault | None = None
    rule_id: str | None = None
    faults: tuple[SandboxFault | None, ...] = ()

    @property
    def fails(self) -> bool:
        """Whether the call as a whole gets another answer; ``flagged`` changes the result of one text."""
        return self.fault is not None and self.fault.kind is not FaultKind.FLAGGED


def call_plan(facts: CallFacts, rules: FaultRules, rng: random.Random) -> CallPlan:
    """The plan of a call: from markers in the text, else from the rules in order, else no fault.

    Raises ``BadRequest`` for an invalid marker, so that a typo in a test is noticed.
    """
    markers = tuple(marker for marker in markers_in(facts.text) if marker.route is facts.route)
    delays = [marker.delay_s for marker in markers if marker.delay_s is not None]
    latency = NO_LATENCY if facts.place else rules.latency.get(facts.route, NO_LATENCY)
    delay_s = sum(delays) if delays else drawn_seconds(latency, rng)
    fault = _marked_fault(markers, facts.seen)
    if fault is not None:
        return CallPlan(delay_s=delay_s, fault=fault)
    for rule in rules.faults:
        if _applies(rule, facts) and (rule.probability >= 1 or rng.random() < rule.probability):
            return CallPlan(delay_s=delay_s, fault=rule.fault, rule_id=rule.rule_id)
    return CallPlan(delay_s=delay_s)


def together(plans: Sequence[CallPlan]) -> CallPlan:
    """The plan of a call about several texts, none of which fails it."""
    if len(plans) == 1:
        return plans[0]
    faults = tuple(planned.fault for planned in plans)
    return CallPlan(
        delay_s=max(planned.delay_s for planned in plans),
        fault=next(filter(None, faults), None),
        faults=faults,
    )


def rules_after_hit(rules: FaultRules, rule_id: str) -> FaultRules:
    """The rules after one of them hit a call: its count is one less, and at 0 it is removed."""
    kept = (
        replace(rule, times=rule.times - 1) if rule.rule_id == rule_id and rule.times is not None else rule
        for rule in rules.faults
    )
    return replace(rules, faults=tuple(rule for rule in kept if rule.times != 0))


def markers_in(text: str) -> tuple[Marker, ...]:
    """The markers of a text, in order; ``[[sandbox:ROUTE=KIND[=VALUE][:TIMES]]]``."""
    if MARKER_START not in text:
        return ()
    bodies = MARKER.findall(text)
    if len(bodies) != text.count(MARKER_START):
        raise BadRequest(f"{MARKER_START}: a marker is not closed by ]]")
    return tuple(_marker(body) for body in bodies)


def without_markers(text: str) -> str:
    """The text without its markers."""
    return MARKER.sub(" ", text).strip() if MARKER_START in text else text


def parse_fault(route: Route, kind: str, value: str = "", retry_after_s: float | None = None) -> SandboxFault:
    """The fault of a word on a route; ValueError names the valid words."""
    if kind.isdecimal() and 400 <= int(kind) <= 599:
        default_s = RETRY_AFTER_S if kind == "429" and retry_after_s is None else retry_after_s
        wait_s = parse_seconds("Retry-After", value) if value else default_s
        return SandboxFault(kind=FaultKind.STATUS, status=int(kind), retry_after_s=wait_s)
    allowed = KINDS_BY_ROUTE[route] - {FaultKind.STATUS}
    word = "hang" if kind == "timeout" else kind
    if word not in allowed:
        known = ", ".join(sorted(allowed))
        raise ValueError(
            f"fault: expected a status 400..599, timeout or one of {known} on {route}, got {kind!r}"
        )
    if word in {FaultKind.KEYWORD, FaultKind.FORM} and not value:
        raise ValueError(f"fault: {word} needs a word, as in {word}=WORD")
    if word == FaultKind.SCORE and not 0 <= float(value or "nan") <= 1:
        raise ValueError(f"fault: score needs a number from 0 to 1, as in score=0.2, got {value!r}")
    return SandboxFault(kind=FaultKind(word), value=value)


def _marker(body: str) -> Marker:
    match = MARKER_BODY.fullmatch(body)
    try:
        if match is None or match["route"] not in ROUTE_NAMES:
            raise ValueError("not of that form")  # noqa: TRY301  # the same message as for a bad kind or number
        route, times = ROUTE_NAMES[match["route"]], int(match["times"]) if match["times"] else None
        if match["kind"] == "delay":
            return Marker(route=route, delay_s=parse_seconds("delay", match["value"]))
        return Marker(route=route, fault=parse_fault(route, match["kind"], match["value"] or ""), times=times)
    except ValueError as error:
        raise BadRequest(
            f"[[sandbox:{body}]]: expected [[sandbox:ROUTE=KIND[=VALUE][:TIMES]]] with ROUTE one of "
            f"{', '.join(ROUTE_NAMES)} ({error})"
        ) from error


def _marked_fault(markers: tuple[Marker, ...], seen: int) -> SandboxFault | None:
    """The fault for this call: markers of one route apply to its calls one after the other."""
    for marker in markers:
        if marker.fault is None:
            continue
        if marker.times is None or seen < marker.times:
            return marker.fault
        seen -= marker.times
    return None


def _applies(rule: FaultRule, facts: CallFacts) -> bool:
    if rule.route is not facts.route or rule.times == 0:
        return False
    if not rule.contains:
        return not facts.place or rule.fault.kind is FaultKind.FLAGGED
    return rule.contains in facts.text
