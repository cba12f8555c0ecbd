"""Faults of the links between processes and servers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from chaos.faults.injection import Fault, Injection
from chaos.fleet.proxy import Link
from chaos.kinds import FaultKind

SLOW_S: Final = 0.25
QUIET_S: Final = 5.0
"""How much longer a fault lasts at most on links over which nothing was sent meanwhile."""


def reset(injection: Injection) -> tuple[bool, list[str]]:
    """RST to every connection of a link."""
    entries, link = injection.recoveries.pending(), _link(injection)
    return injection.world.network.call(link.reset) > 0, entries


def lose_answers(injection: Injection) -> tuple[bool, list[str]]:
    """Requests arrive, their answers do not: they are held, then every connection gets RST."""
    entries, link = injection.recoveries.pending(), _link(injection)
    held = _while_held(injection, [link], requests=False, end=link.reset)
    return held > 0, entries


def freeze(injection: Injection) -> tuple[bool, list[str]]:
    """Answers of a link arrive late, all at once."""
    entries, link = injection.recoveries.pending(), _link(injection)
    return _while_held(injection, [link], requests=False) > 0, entries


def cut(injection: Injection) -> tuple[bool, list[str]]:
    """Neither direction passes between a process and a server, or between all processes and one server."""
    entries, link = injection.recoveries.pending(), _link(injection)
    links = [link]
    if injection.rng.random() < 0.3:
        server = link.name.split(" ")[1]
        links = [each for each in injection.world.network.links.values() if each.name.endswith(server)]
    return _while_held(injection, links, requests=True) > 0, entries


def slow(injection: Injection) -> tuple[bool, list[str]]:
    """Every answer and request of a link takes a quarter of a second longer."""
    entries, link = injection.recoveries.pending(), _link(injection)
    before = link.slowed_bytes

    def begin() -> None:
        link.latency_s = SLOW_S

    injection.world.network.call(begin)
    try:
        _last(injection, lambda: link.slowed_bytes > before)
    finally:
        injection.world.network.call(link.open_again)
    return link.slowed_bytes > before, entries


def half_open(injection: Injection) -> tuple[bool, list[str]]:
    """Half-open connections: the server has lost them, the process learns it after a while by RST."""
    entries, link = injection.recoveries.pending(), _link(injection)
    forgotten = injection.world.network.call(link.forget)
    try:
        injection.world.pause(injection.duration_s())
    finally:
        injection.world.network.call(link.open_again)
    return forgotten > 0, entries


def _link(injection: Injection) -> Link:
    """Some link that has connections now."""
    links = sorted(injection.world.network.links.values(), key=lambda each: each.name)
    return injection.rng.choice([each for each in links if each.pairs] or links)


def _last(injection: Injection, happened: Callable[[], bool]) -> None:
    """Wait for the duration of a fault, and on a quiet link for something that it happens to."""
    injection.world.pause(injection.duration_s())
    injection.world.until(happened, QUIET_S)


def _while_held(
    injection: Injection, links: Sequence[Link], *, requests: bool, end: Callable[[], object] | None = None
) -> int:
    """Hold the answers of links for a while; how many bytes were held."""
    network = injection.world.network
    before = sum(link.held_bytes for link in links)

    def begin() -> None:
        for link in links:
            link.holds_answers, link.holds_requests = True, requests

    network.call(begin)
    try:
        _last(injection, lambda: sum(link.held_bytes for link in links) > before)
    finally:
        held = sum(link.held_bytes for link in links) - before
        if end is not None:
            network.call(end)
        for link in links:
            network.call(link.open_again)
    return held


FAULTS: Final[dict[FaultKind, Fault]] = {
    FaultKind.RESET: reset,
    FaultKind.LOST_ANSWERS: lose_answers,
    FaultKind.FROZEN: freeze,
    FaultKind.PARTITION: cut,
    FaultKind.LATENCY: slow,
    FaultKind.HALF_OPEN: half_open,
}
