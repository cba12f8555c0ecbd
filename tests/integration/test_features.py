"""Optional features: in force they add pages, jobs and commands; switched off they add nothing but tables."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import psycopg
import pytest

from db.people.records import Role
from features.feature import FEATURES, NONE, VARIABLE, Feature, declared, hook_values
from tests.support.review_world import World, candidate
from tests.support.reviewing import add_person
from tests.support.terminal import Shell
from worker.errors import ConfigurationError

LISTED = """
import json, sys
from cli.main import commands
from db.columns import metadata
from db.retention.declared import RETENTION
from features.feature import FEATURES, hook_items, hook_values, in_force
from review.lists.filter_fields import FIELDS
from review.routes import PAGES
from review.shell.menu import MenuPlace, menu
from review.shell.navigation import LINKS
from tasks.app import app
from tasks.webhooks.bodies import BODIES
hook_values("tables")
app.loader.import_default_modules()
print(json.dumps({
    "in_force": [each.name for each in in_force()],
    "commands": list(commands()),
    "pages": [each.name for each in PAGES],
    "navigation": [each.path for each in LINKS],
    "menu": [each.route for place in MenuPlace for each in menu(place)],
    "schedule": list(app.conf.beat_schedule),
    "tasks": [each for each in app.tasks if each.startswith("hushgate.")],
    "outgoing": [str(each) for each in BODIES],
    "kept": [each.table for each in RETENTION],
    "tables": list(metadata.tables),
    "filters": [each.name for each in FIELDS],
    "supervised": [each.name for each in hook_items("jobs") if each.start],
    "modules": {name: sum(each.split(".")[0] == name for each in sys.modules) for name in FEATURES},
}))
"""
VISITED = """
import json, sys
from types import SimpleNamespace
from tests.support.reviewing import signed_in, site
url, login, *paths = sys.argv[1:]
with site(url) as visitors:
    lead = signed_in(visitors, SimpleNamespace(login=login))
    print(json.dumps({path: lead.get(path).status_code for path in paths}))
"""
SERVERS = {
    "DATABASE_URL": "postgresql://localhost/unused",
    "REDIS_URL": "redis://localhost:6379/0",
    "OPENAI_API_KEY": "unused",
    "OPENROUTER_API_KEY": "unused",
}
OF_COMPLIANCE = {
    "commands": {"holds", "erasure", "statements", "audit-log"},
    "pages": {"holds", "erasure", "appeals", "appeal_link", "statements", "api_holds", "api_appeals"},
    "navigation": {"/appeals"},
    "menu": {"holds", "statements", "decision_appeal"},
    "schedule": {"appeals", "erasures"},
    "tasks": {"hushgate.appeals", "hushgate.erasures"},
    "outgoing": {"appeal.decided"},
}
OF_TRIALS = {
    "commands": {"trials candidates", "trials replay", "trials backtest", "trials eval", "trials rollouts"},
    "pages": {"learn", "trial", "rollout_start", "golden_set", "decision_replay", "learn_errors"},
    "menu": {"learn", "decision_replay"},
    "schedule": {"rollouts"},
    "tasks": {"hushgate.rollouts"},
    "filters": {"shadow"},
    "supervised": {"suggestions", "shadows"},
}
OF_FEATURES = {"compliance": OF_COMPLIANCE, "trials": OF_TRIALS}
ACCOUNT_PAGES = (
    "settings", "rules", "rules/history", "home", "documents", "suggestions", "limits",
)  # fmt: skip
STAYS = {
    "compliance": {"appeals", "legal_holds", "erasures", "audit_log_leaves"},
    "trials": {"candidates", "trials", "trial_steps", "golden_sets", "learning_suggestions"},
}


def listed(environment: Mapping[str, str], cwd: Path | None = None) -> dict[str, Any]:
    """What a new process with this environment has."""
    return printed(LISTED, environment=environment, cwd=cwd)


def printed(
    code: str, *arguments: str, environment: Mapping[str, str], cwd: Path | None = None
) -> dict[str, Any]:
    """The JSON that a new process with this environment prints last."""
    inherited = {name: value for name, value in os.environ.items() if name != VARIABLE}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**inherited, "PYTHONPATH": os.pathsep.join(sys.path), **SERVERS, **environment},
        cwd=cwd,
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_every_feature_is_in_force_by_default() -> None:
    """Without the variable."""
    found = listed({})

    assert tuple(found["in_force"]) == FEATURES
    for of_feature in OF_FEATURES.values():
        assert all(names <= set(found[kind]) for kind, names in of_feature.items())


def test_workers_know_every_task_that_beat_sends() -> None:
    """The table of jobs and the tasks agree by name."""
    found = listed({})

    assert {f"hushgate.{name}" for name in found["schedule"]} - set(found["tasks"]) == set()


@pytest.mark.parametrize("feature", OF_FEATURES)
def test_a_feature_can_be_switched_off(feature: str) -> None:
    """Its menu, jobs, routes, commands and events are gone; its tables and their retention stay."""
    found = listed({VARIABLE: ",".join(name for name in FEATURES if name != feature)})

    assert not any(names & set(found[kind]) for kind, names in OF_FEATURES[feature].items())
    assert set(found["tables"]) & set(found["kept"]) >= STAYS[feature]
    assert found["modules"][feature] <= 8, "only what declares it, its tables and their retention is imported"


@pytest.mark.parametrize("named", [*FEATURES, NONE])
def test_the_pages_of_the_core_need_no_feature(named: str, database_url: str) -> None:
    """A lead opens each of them, also of a decision that a candidate made, with one feature or none."""
    with World(database_url, f"shop-{named}") as world:
        decision, account = world.decision.decision_id, f"/accounts/{world.account}"
        tried = candidate(world, world.person())
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute("SET session_replication_role = replica")  # decisions are append-only
        owner.execute("UPDATE ai_decisions SET candidate_id = %s WHERE id = %s", (tried, decision))
    lead = add_person(database_url, Role.LEAD, Role.ACCOUNT_ADMIN)
    paths = [
        "/", "/decisions", f"/decisions/{decision}", f"/decisions/{decision}/similar", "/conversations",
        "/dashboard", "/agreement", "/queues", "/escalations", "/inbox", "/views", "/jobs", "/bulk",
        "/profile", "/accounts", *(f"{account}/{page}" for page in ACCOUNT_PAGES),
    ]  # fmt: skip

    found = printed(VISITED, database_url, lead.login, *paths, environment={VARIABLE: named})

    assert found == dict.fromkeys(paths, 200)


def test_an_unknown_feature_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the known ones."""
    monkeypatch.setenv(VARIABLE, "complaince")

    with pytest.raises(ConfigurationError, match="got complaince"):
        hook_values("pages")


def test_the_env_file_names_features(tmp_path: Path) -> None:
    """As it does other variables; an empty variable counts as none."""
    (tmp_path / ".env").write_text(f"{VARIABLE}={NONE}\n")

    assert listed({VARIABLE: ""}, cwd=tmp_path)["in_force"] == []


def test_the_command_line_names_an_unknown_feature_in_one_line(tmp_path: Path) -> None:
    """With the exit code of a wrong configuration."""
    ended = Shell(environment={VARIABLE: "complaince"}, folder=tmp_path).run("decisions", "list")

    assert ended.code == 3
    assert (
        ended.err
        == f"{VARIABLE}: expected names among {', '.join(FEATURES)}, or {NONE} alone, got complaince\n"
    )


def test_an_unknown_hook_is_an_error() -> None:
    """A misspelt hook is not an empty one."""
    with pytest.raises(ValueError, match="page"):
        hook_values("page")


@pytest.mark.parametrize("each", declared(), ids=lambda each: each.name)
def test_every_hook_names_an_object(each: Feature) -> None:
    """Of every feature."""
    for hook in fields(Feature):
        assert hook.name == "name" or all(part is not None for part in hook_values(hook.name)), each.name
