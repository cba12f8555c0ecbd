"""What a person should keep of the transparency log of a local fleet: its public key and a checkpoint."""

from __future__ import annotations

import time
from collections.abc import Callable

import orjson

from cli.stack.fleet import AUDIT_LOG, Fleet
from cli.stack.start_watch import StartWatch


def first_lines(running: Fleet, say: Callable[[str], None]) -> tuple[str, ...]:
    """Verifier key and checkpoint as text for a person, as soon as the log has signed one.

    Raises:
        ConfigurationError: a process ended or is stuck; the message has its last lines.
    """
    watch = StartWatch(running, (AUDIT_LOG,), "the first checkpoint of the audit log", say)
    while (found := _signed(running)) is None:
        watch.look()
        time.sleep(0.1)
    key, checkpoint = found
    return f"audit log     {key}", "keep this checkpoint elsewhere (docs/audit-log.md):", checkpoint.rstrip()


def _signed(running: Fleet) -> tuple[str, str] | None:
    """The printed key and the first checkpoint in the log file; None before both are there."""
    lines = (running.logs / f"{AUDIT_LOG}.log").read_text().splitlines()
    key = next((line for line in lines if line.startswith("verifier key ")), None)
    row = next((line for line in lines if line.startswith("{") and line.endswith("}")), None)
    return (key, str(orjson.loads(row)["checkpoint"])) if key and row else None
