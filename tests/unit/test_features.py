"""Optional features: what is left when they are switched off."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from features.feature import FEATURES, VARIABLE, in_force, parts

PROGRAM = """
import json, sys
from cli.main import commands
from db.columns import metadata
from features.feature import items, parts
from review.routes import PAGES
from review.lists.filter_fields import FIELDS
from review.shell.menu import MenuPlace, menu
from tasks.app import app
parts("tables")
print(json.dumps({
    "commands": sorted(commands()), "routes": sorted(page.name for page in PAGES),
    "schedule": sorted(app.conf.beat_schedule), "filters": [field.name for field in FIELDS],
    "menu": [entry.route for place in MenuPlace for entry in menu(place)],
    "jobs": len(items("background")) + len(items("beat_jobs")), "tables": sorted(metadata.tables),
    "modules": sorted(name for name in sys.modules if name.split(".")[0] in sys.argv[1:]),
}))
"""


def declared(features: str) -> dict[str, Any]:
    """What a process with these features in force declares."""
    environment = {
        **os.environ,
        VARIABLE: features,
        "DATABASE_URL": "postgresql://nobody@127.0.0.1:9/none",
        "REDIS_URL": "redis://127.0.0.1:9/0",
        "OPENAI_API_KEY": "none",
        "OPENROUTER_API_KEY": "none",
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *FEATURES],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_feature_that_is_switched_off_adds_only_its_tables() -> None:
    """No command, page, tab, filter, job or task of trials is left; its tables are."""
    on, off = declared("trials"), declared("")
    gone = {
        name: set(on[name]) - set(off[name]) for name in ("commands", "routes", "schedule", "filters", "menu")
    }

    assert {name.split(" ")[0] for name in gone["commands"]} == {"trials"}
    assert gone["commands"] >= {"trials candidates", "trials replay", "trials backtest", "trials eval"}
    assert gone["routes"] >= {"learn", "backtest", "rollout", "golden_set", "decision_replay"}
    assert (gone["schedule"], gone["filters"]) == ({"rollouts"}, {"shadow"})
    assert gone["menu"] == {"learn", "decision_replay"}
    assert (off["jobs"], on["tables"]) == (0, off["tables"])
    assert {name for name in off["modules"] if name.startswith("trials")} <= {
        "trials", "trials.feature", "trials.tables"
    }  # fmt: skip


def test_an_unknown_feature_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The names that exist are in the message, and so they are for a hook."""
    monkeypatch.setenv(VARIABLE, "trials,nonsense")
    with pytest.raises(ValueError, match="nonsense"):
        in_force()
    with pytest.raises(ValueError, match="hook"):
        parts("nonsense")
