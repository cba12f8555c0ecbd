"""What happens to a call of the sandbox, as pure values; its ring of requests, and its closed connections."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
import uvloop

from sandbox import ledger
from sandbox.connection import reset_connection
from sandbox.faults import (
    CallFacts,
    CallPlan,
    FaultKind,
    FaultRules,
    SandboxFault,
    call_plan,
    rules_after_hit,
)
from sandbox.latency import Fixed, drawn_seconds, parse_latency_option
from sandbox.ledger import Ledger
from sandbox.routes import BadRequest, Route
from sandbox.scenario import parse_rules, parse_scenario
from sandbox.state import Sandbox

TOO_MANY = SandboxFault(kind=FaultKind.STATUS, status=429, retry_after_s=2.0)


def planned(
    text: str, *, route: Route = Route.CHAT, seen: int = 0, rules: FaultRules | None = None
) -> CallPlan:
    return call_plan(CallFacts(route=route, text=text, seen=seen), rules or FaultRules(), random.Random(1))


def outcomes(text: str, calls: int, route: Route = Route.CHAT) -> list[str]:
    faults = [planned(text, route=route, seen=seen).fault for seen in range(calls)]
    return ["ok" if fault is None else fault.outcome for fault in faults]


@pytest.mark.parametrize(
    ("marker", "fault"),
    [
        ("llm=429", TOO_MANY),
        ("llm=429=0.5", SandboxFault(kind=FaultKind.STATUS, status=429, retry_after_s=0.5)),
        ("llm=503=7", SandboxFault(kind=FaultKind.STATUS, status=503, retry_after_s=7.0)),
        ("llm=500", SandboxFault(kind=FaultKind.STATUS, status=500)),
        ("chat=401", SandboxFault(kind=FaultKind.STATUS, status=401)),
        ("llm=timeout", SandboxFault(kind=FaultKind.HANG)),
        ("llm=hang", SandboxFault(kind=FaultKind.HANG)),
        ("llm=reset", SandboxFault(kind=FaultKind.RESET)),
        ("llm=malformed", SandboxFault(kind=FaultKind.MALFORMED)),
        ("llm=empty", SandboxFault(kind=FaultKind.EMPTY)),
        ("llm=bad_tool", SandboxFault(kind=FaultKind.BAD_TOOL)),
        ("llm=tool_loop", SandboxFault(kind=FaultKind.TOOL_LOOP)),
        ("llm=refusal", SandboxFault(kind=FaultKind.REFUSAL)),
        ("llm=flagged", SandboxFault(kind=FaultKind.FLAGGED)),
        ("llm=keyword=FREE MONEY", SandboxFault(kind=FaultKind.KEYWORD, value="FREE MONEY")),
        ("llm=ungrounded", SandboxFault(kind=FaultKind.UNGROUNDED)),
        ("llm=irrelevant", SandboxFault(kind=FaultKind.IRRELEVANT)),
        ("llm=injected", SandboxFault(kind=FaultKind.INJECTED)),
    ],
)
def test_a_marker_names_a_fault(marker: str, fault: SandboxFault) -> None:
    """Each word of a marker means one fault."""
    assert planned(f"hello [[sandbox:{marker}]]").fault == fault


def test_a_counted_marker_stops_after_its_calls() -> None:
    """``429:2`` fails the first two calls about a text and no more."""
    assert outcomes("hi [[sandbox:llm=429:2]]", 4) == ["429", "429", "ok", "ok"]


def test_markers_of_one_route_take_their_calls_in_turn() -> None:
    """A second marker begins where the first one ends."""
    text = "hi [[sandbox:llm=429:2]] there [[sandbox:llm=malformed:1]]"

    assert outcomes(text, 4) == ["429", "429", "malformed", "ok"]


@pytest.mark.parametrize(
    "marker",
    [
        "[[sandbox:llm=42]]",
        "[[sandbox:llm=nonsense]]",
        "[[sandbox:nowhere=500]]",
        "[[sandbox:llm]]",
        "[[sandbox:llm=429:zero]]",
        "[[sandbox:llm=429:0]]",
        "[[sandbox:llm=keyword]]",
        "[[sandbox:llm=delay=nan]]",
        "[[sandbox:mod=bad_tool]]",
        "[[sandbox:judge=score=2]]",
        "[[sandbox:llm=500",
    ],
)
def test_a_marker_that_means_nothing_is_refused(marker: str) -> None:
    """A typo cannot pass unseen: the call is a bad request."""
    with pytest.raises(BadRequest, match=r"\[\[sandbox:"):
        planned(f"hi {marker}")


def test_a_delay_marker_replaces_the_latency_of_the_route() -> None:
    """``delay`` is for this text only, and takes the place of what the route would wait."""
    rules = FaultRules(latency={Route.CHAT: Fixed(seconds=9.0)})

    assert planned("hi [[sandbox:llm=delay=0.25]]", rules=rules).delay_s == 0.25


def test_the_first_rule_that_applies_wins() -> None:
    """Rules are read in order; route and text must both fit."""
    rules = FaultRules(
        faults=parse_rules(
            [
                {"route": "mod", "fault": "500"},
                {"route": "llm", "fault": "429", "contains": "refund"},
                {"route": "llm", "fault": "503"},
            ],
            prefix="r",
            first=1,
        )
    )

    assert [planned(text, rules=rules).rule_id for text in ("refund", "hours")] == ["r2", "r3"]


def test_a_marker_comes_before_a_rule() -> None:
    """What a text asks for itself is nearer than what all calls get, and spends no rule."""
    rules = FaultRules(faults=parse_rules({"route": "llm", "fault": "500"}, prefix="r", first=1))

    assert planned("[[sandbox:llm=429]]", rules=rules) == CallPlan(fault=TOO_MANY)


def test_a_counted_rule_is_gone_when_it_is_spent() -> None:
    """Each hit takes one from ``times``; the last takes the rule."""
    rules = FaultRules(faults=parse_rules({"route": "llm", "fault": "500", "times": 2}, prefix="r", first=1))
    once = rules_after_hit(rules, "r1")

    assert ([rule.times for rule in once.faults], rules_after_hit(once, "r1").faults) == ([1], ())


def test_a_rule_hits_its_share_of_the_calls() -> None:
    """A quarter of 4,000 calls."""
    given = {"route": "llm", "fault": "500", "probability": 0.25}
    rules, rng = FaultRules(faults=parse_rules(given, prefix="r", first=1)), random.Random(7)
    plans = [call_plan(CallFacts(route=Route.CHAT, text=""), rules, rng) for _ in range(4_000)]

    assert 900 < sum(plan.fault is not None for plan in plans) < 1_100


def test_latencies_are_drawn_from_the_distribution_of_their_option() -> None:
    """Of 20,000 draws of a lognormal one, median and p95 are within 5 % of the option's."""
    rng = random.Random(3)
    draws = sorted(drawn_seconds(parse_latency_option("1/2.5"), rng) for _ in range(20_000))

    assert [draws[10_000], draws[19_000]] == pytest.approx([1.0, 2.5], rel=0.05)
    assert 0.1 <= drawn_seconds(parse_latency_option("0.1..0.3"), rng) <= 0.3
    assert drawn_seconds(parse_latency_option("0.2"), rng) == 0.2


@pytest.mark.parametrize("option", ["", "fast", "-1", "3..1", "2/1", "0/1", "inf", "4000"])
def test_a_latency_option_that_means_nothing_is_refused(option: str) -> None:
    """Negative, endless and reversed latencies are errors of the caller."""
    with pytest.raises(ValueError, match="expected SECONDS"):
        parse_latency_option(option)


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ([], "scenario"),
        ({"sede": 7}, "scenario"),
        ({"seed": "x"}, "seed"),
        ({"latency": {"chat": "slow"}}, "latency"),
        ({"latency": {"nowhere": 1}}, "latency"),
        ({"rules": [{"route": "chat"}]}, "fault"),
        ({"rules": [{"fault": "500"}]}, "route"),
        ({"rules": [{"route": "chat", "fault": "500", "times": 0}]}, "times"),
        ({"rules": [{"route": "chat", "fault": "500", "probability": 2}]}, "probability"),
        ({"rules": [{"route": "chat", "fault": "500", "often": 2}]}, "rule"),
        ({"rules": [{"route": "embeddings", "fault": "refusal"}]}, "fault"),
    ],
)
def test_a_scenario_that_means_nothing_is_refused_by_field(document: object, field: str) -> None:
    """The message begins with the field that is wrong."""
    with pytest.raises(ValueError, match=f"^{field}: "):
        parse_scenario(document)


def planned_calls(
    *rules: dict[str, object], texts: tuple[str, ...], calls: int
) -> tuple[Sandbox, list[CallPlan]]:
    """A sandbox with rules after some moderation calls about the same texts, and their plans."""
    sandbox = Sandbox(parse_scenario({}))
    sandbox.add_rules(list(rules))
    return sandbox, [sandbox.plan_call(Route.MODERATIONS, texts) for _ in range(calls)]


def test_a_rule_for_every_text_fails_a_call_of_several_once() -> None:
    """Its count is of calls, as with one text a call."""
    _, plans = planned_calls({"route": "mod", "fault": "503", "times": 2}, texts=("a", "b", "c"), calls=3)

    assert [planned.fails for planned in plans] == [True, True, False]


def test_flagged_is_of_one_text_of_a_call() -> None:
    """Each text that is flagged counts."""
    _, plans = planned_calls({"route": "mod", "fault": "flagged", "times": 3}, texts=("a", "b"), calls=2)

    assert [[fault is not None for fault in planned.faults] for planned in plans] == [
        [True, True],
        [True, False],
    ]


def test_a_text_is_not_counted_for_a_call_that_another_text_failed() -> None:
    """Its own faults still wait for it."""
    texts = ("a", "b [[sandbox:mod=500:1]]", "c [[sandbox:mod=503:1]]")
    sandbox, plans = planned_calls(texts=texts, calls=3)

    assert [planned.fault.status if planned.fault else 200 for planned in plans] == [500, 503, 200]
    assert [sandbox.ledger.seen(Route.MODERATIONS, text) for text in texts] == [1, 2, 2]


@pytest.mark.parametrize(("sizes", "oldest"), [([], 1), ([1] * 5, 3), ([4, 4, 4], 2), ([4, 11], 3)])
def test_the_oldest_stored_request_is_known(
    monkeypatch: pytest.MonkeyPatch, sizes: list[int], oldest: int
) -> None:
    """A request that is too large for the ring leaves none; the next one is then the oldest."""
    monkeypatch.setattr(ledger, "MOST_RING_BYTES", 10)
    ring = Ledger(keep_requests=3)
    for size in sizes:
        ring.begin(Route.CHAT, "text", b"x" * size)

    assert ring.oldest_number == oldest


class _Answering:
    """The request cycle that uvicorn has for a request, as far as a reset needs it."""

    def __init__(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    async def send(self, message: Any) -> None:
        """Send nothing."""


async def _reset_after_close() -> bool:
    accepted: asyncio.Queue[asyncio.StreamWriter] = asyncio.Queue()
    server = await asyncio.start_server(lambda _reader, writer: accepted.put_nowait(writer), "127.0.0.1", 0)
    async with server:
        _reader, client = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer = await accepted.get()
        writer.transport.get_extra_info("socket")  # as uvicorn does for the client's address
        client.close()
        writer.transport.abort()
        await reset_connection(_Answering(writer.transport).send)
        return writer.transport.is_closing()


def test_a_reset_of_a_closed_connection_changes_nothing() -> None:
    """Uvloop has no socket of such a connection any more."""
    assert uvloop.run(_reset_after_close())
