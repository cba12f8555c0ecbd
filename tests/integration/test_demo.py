"""What a new user runs: `hushgate demo`, and the blocks of README's Start."""

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
from tests.support.terminal import HUSHGATE

EVERYTHING_EMBEDDED: Final = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("HUSHGATE_", "DATABASE_", "REDIS_", "OPENAI_", "OPENROUTER_"))
}
LINK: Final = re.compile(r"http://127\.0\.0\.1:\d+/sign-in/link\?token=[\w-]{43}")


@pytest.mark.timeout(300)
def test_in_a_pipe_it_ends_by_itself_and_has_tried_the_way_in() -> None:
    """The laws held, right answers were sent, wrong ones held, and the link to the pages answered."""
    done = subprocess.run(  # noqa: PLW1510  # the code is looked at below
        [HUSHGATE, "demo", "--rate", "200"],
        env=EVERYTHING_EMBEDDED,
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
def test_on_a_terminal_it_stays_until_it_is_interrupted() -> None:
    """The link is printed last, works, and Enter gives another one."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [HUSHGATE, "demo", "--rate", "200"],
        env=EVERYTHING_EMBEDDED | {"COLUMNS": "200", "TERM": "dumb"},
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


README: Final = Path(__file__).parents[2] / "README.md"
BLOCK: Final = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BARE: Final = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("HUSHGATE_", "DATABASE_", "REDIS_", "OPENAI_", "OPENROUTER_"))
}
LAST_EXPORT: Final = "export OPENROUTER_BASE_URL="


@pytest.mark.timeout(300)
def test_a_newcomer_s_first_question_is_answered(tmp_path: Path) -> None:
    """The first block starts the servers; the others run in another shell after what it prints."""
    start = README.read_text().partition("\n## Start\n")[2].partition("\n## ")[0]
    first, *others = BLOCK.findall(start)
    process = subprocess.Popen(
        [HUSHGATE, "up"], env=BARE, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    try:
        exports = _exports(process)
        script = "".join(("set -eo pipefail\n", *exports, *others))
        ended = subprocess.run(
            ["bash", "-c", script], env=BARE, cwd=tmp_path, capture_output=True, text=True, check=False
        )
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)

    assert first == "make up\n"
    assert ended.returncode == 0, ended.stderr
    assert "REPLIED" in ended.stdout
    assert "The shop is open Monday to Friday from 9:30 to 18:00." in ended.stdout
    assert "has no settings yet" not in ended.stderr


def _exports(process: subprocess.Popen[str]) -> list[str]:
    assert process.stdout is not None
    found = []
    for line in process.stdout:
        found.append(line)
        if line.startswith(LAST_EXPORT):
            return found
    raise AssertionError(f"no exports: {found}")
