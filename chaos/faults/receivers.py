"""Receivers of webhooks that take a request and do not answer."""

from __future__ import annotations

from typing import Final

from chaos.faults.injection import Fault, Injection
from chaos.kinds import FaultKind

PATIENCE_S: Final = 10.0
"""A fault lasts until one request hung."""


def hang(injection: Injection) -> tuple[bool, list[str]]:
    """Some webhooks hang until the fault ends; the others must go on."""
    receiver, entries = injection.world.receiver, injection.recoveries.pending()
    before = receiver.hung
    receiver.answers.clear()
    try:
        injection.world.pause(injection.duration_s())
        happened = injection.world.until(lambda: receiver.hung > before, PATIENCE_S)
    finally:
        receiver.answers.set()
    return bool(happened), entries


FAULTS: Final[dict[FaultKind, Fault]] = {FaultKind.RECEIVER_HANG: hang}
