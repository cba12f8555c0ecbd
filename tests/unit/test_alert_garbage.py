"""Garbage in cycles leaves beat after each check of the alerts, however old it is."""

from __future__ import annotations

import threading
import weakref
from types import SimpleNamespace
from typing import Any

import pytest

from tasks.alerts.watch import AlertWatch
from tests.support.garbage import Node, old_garbage


def test_beat_collects_what_a_check_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a check that failed, too."""
    found: list[weakref.ref[Node]] = []
    looked = threading.Event()

    def check(watch: AlertWatch) -> Any:
        if found:
            looked.set()
        else:
            found.append(old_garbage())
        raise ValueError("a bug in a condition")

    monkeypatch.setattr(AlertWatch, "check", check)
    watch = AlertWatch(SimpleNamespace(alerts_every_s=0.01))  # type: ignore[arg-type]
    watch.start()
    assert looked.wait(10)
    watch.stop()

    assert found[0]() is None
