"""What a new user runs from the wheel in an empty folder: the demo, and the blocks of README and tutorial."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
from pathlib import Path
from typing import Final

import pytest

from cli.demo.run import STAYS
from cli.deployment.loopback import status
from sandbox.server import SandboxHandle
from tests.support import wheel
from tests.support.node_receiver import NODE
from tools import readme

EVERYTHING_EMBEDDED: Final = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("HUSHGATE_", "DATABASE_", "REDIS_", "OPENAI_", "OPENROUTER_", "PYTHONPATH"))
}
LINK: Final = re.compile(r"http://127\.0\.0\.1:\d+/sign-in/link\?token=[\w-]{43}")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with the wheel; no checkout and no variable of Hushgate's."""
    return wheel.installed(tmp_path_factory.mktemp("installed"))


@pytest.mark.timeout(300)
def test_in_a_pipe_it_ends_by_itself_and_has_tried_the_way_in(programs: Path, tmp_path: Path) -> None:
    """The laws held, right answers were sent, wrong ones held, and the link to the pages answered."""
    done = subprocess.run(  # noqa: PLW1510  # the code is looked at below
        [programs / "hushgate", "demo", "--rate", "200"],
        env=EVERYTHING_EMBEDDED,
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=240,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    last, (answers,) = lines[-1], [line for line in lines if line["kind"] == "answers"]

    assert done.returncode == 0, done.stderr.decode()
    assert answers["right_sent"] >= 0.9 * answers["right"] > 0, answers
    assert answers["wrong_held"] == answers["wrong"] > 0, answers
    assert (last["kind"], last["answered"]) == ("review", True)
    assert LINK.fullmatch(last["sign_in"])
    assert status(last["address"]) is None  # it ended with the demo


@pytest.mark.timeout(300)
def test_on_a_terminal_it_stays_until_it_is_interrupted(programs: Path, tmp_path: Path) -> None:
    """The link is printed last, works, and Enter gives another one."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [programs / "hushgate", "demo", "--rate", "200"],
        env=EVERYTHING_EMBEDDED | {"COLUMNS": "200", "TERM": "dumb"},
        cwd=tmp_path,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        shown = _read_until(ours, STAYS)
        first = LINK.findall(shown)
        os.write(ours, b"\n")
        second = LINK.findall(_read_until(ours, "every role"))
        answers = [status(link) for link in (*first, *second)]
        process.send_signal(signal.SIGINT)
        _read_until(ours, "draining")
        code = process.wait(60)
    finally:
        process.kill()
        process.wait()
        os.close(ours)

    assert (len(first), len(second), code) == (1, 1, 0)
    assert answers == [200, 200]


def _read_until(terminal: int, words: str) -> str:
    shown = b""
    while words.encode() not in shown:
        try:
            shown += os.read(terminal, 65536)
        except OSError as error:  # the demo has ended
            raise AssertionError(f"not shown: {words}, but:\n{shown.decode(errors='replace')}") from error
    return shown.decode(errors="replace")


@pytest.mark.timeout(300)
def test_a_newcomer_s_first_questions_are_answered(
    programs: Path, tmp_path: Path, sandbox: SandboxHandle
) -> None:
    """The blocks of README's Start, then those of the tutorial, which begins with README's."""
    (own := tmp_path / "bin").mkdir()
    (own / "node").symlink_to(NODE)
    readme.add_curl(own)
    tutorial = readme.blocks((readme.ROOT / "docs" / "start.md").read_text())
    path = EVERYTHING_EMBEDDED["PATH"]
    with readme.first_block(
        EVERYTHING_EMBEDDED | {"PATH": f"{programs}:{path}"}, tmp_path, sandbox.base_url
    ) as exports:
        ended = readme.run_blocks(
            exports,
            [*readme.start_blocks()[1:], *tutorial],
            EVERYTHING_EMBEDDED | {"PATH": f"{own}:{path}"},
            tmp_path,
        )

    assert ended.returncode == 0, ended.stderr
    assert "REPLIED" in ended.stdout
    assert "LOW_CONFIDENCE_ESCALATED" in ended.stdout
    assert ended.stdout.count("The shop is open Monday to Friday from 9:30 to 18:00.") >= 3
    assert "has no settings yet" not in ended.stderr
