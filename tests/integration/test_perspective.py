"""Recorded scores of Perspective API beside a real account and a server with the moderation API."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.exit_codes import ExitCode
from sandbox.server import SandboxHandle
from tests.integration.test_up import store
from tests.support.terminal import shell_at

LINES = (
    {"id": "insult", "text": "You are an idiot", "perspective": {"INSULT": 0.95, "PROFANITY": 0.2}},
    {"id": "rule", "text": "cheap watches here", "perspective": {"INSULT": 0.1, "PROFANITY": 0.9}},
    {"id": "nice", "text": "Thank you", "perspective": {"INSULT": 0.1}},
)


def test_rules_and_thresholds_of_the_account_decide(url: str, sandbox: SandboxHandle, tmp_path: Path) -> None:
    """Texts without a recorded answer are asked about; a profane word is the work of rules."""
    store(url, "shop", flagged_keywords=["watches"], moderation_thresholds={"harassment": 1.0})
    (tmp_path / "recorded.jsonl").write_text("\n".join(map(json.dumps, LINES)))
    known = {"HUSHGATE_MODERATION_URL": sandbox.base_url, "HUSHGATE_MODERATION_KEY": "k"}
    shell = shell_at(tmp_path, DATABASE_URL=url, **known)
    of_account = shell.run("perspective", "recorded.jsonl", "--account", "shop", "--live")
    without = shell.run("perspective", "recorded.jsonl", "--live", env={"DATABASE_URL": None})
    rows = {row.get("id", row.get("attribute")): row for row in of_account.rows}

    assert (of_account.code, without.code) == (ExitCode.OK, ExitCode.OK)
    assert [row["hushgate_acts"] for row in without.rows[:3]] == ["openai_moderation:harassment", None, None]
    assert rows["insult"]["hushgate_acts"] is None
    assert rows["rule"]["hushgate_acts"] == "flagged_keyword:watches"
    assert rows["insult"]["moderation"]["harassment"] > 0
    assert (rows["PROFANITY"]["both"], rows["PROFANITY"]["neither"]) == (1, 1)


@pytest.mark.parametrize("refusing", [False, True])
def test_without_an_api_that_answers_nothing_is_compared(
    sandbox: SandboxHandle, tmp_path: Path, *, refusing: bool
) -> None:
    """Neither without a server nor with a key that it refuses."""
    (tmp_path / "recorded.jsonl").write_text(json.dumps(LINES[0]))
    sandbox.add_rule("moderations", "401")
    known = {"HUSHGATE_MODERATION_URL": sandbox.base_url, "HUSHGATE_MODERATION_KEY": "k"}
    ended = shell_at(tmp_path, **(known if refusing else {})).run("perspective", "recorded.jsonl", "--live")

    assert (ended.code, ended.rows) == (ExitCode.CONFIGURATION, [])
    assert ("401" if refusing else "HUSHGATE_MODERATION_URL") in ended.err
