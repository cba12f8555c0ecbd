"""What a new user runs from the wheel in an empty folder: the demo, and the blocks of README and tutorial."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
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

EVERYTHING_EMBEDDED: Final = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("HUSHGATE_", "DATABASE_", "REDIS_", "OPENAI_", "OPENROUTER_", "PYTHONPATH"))
}
ROOT: Final = Path(__file__).parents[2]
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


BLOCK: Final = re.compile(r"^```(sh|python|js)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RUNNERS: Final = {"sh": "", "python": "python - <<'END'\n", "js": "node --input-type=module - <<'END'\n"}
LAST_EXPORT: Final = "export HUSHGATE_SECRETS_KEY="
CURL: Final = """#!{python}
import sys, urllib.request
words = dict(zip(sys.argv[2:], sys.argv[3:]))
headers = dict(word.split(": ", 1) for flag, word in zip(sys.argv, sys.argv[1:]) if flag == "-H")
request = urllib.request.Request(sys.argv[2], words["-d"].encode(), headers)
print(urllib.request.urlopen(request).read().decode())
"""
"""For machines without curl: as much of the command as README needs."""


@pytest.mark.timeout(300)
def test_a_newcomer_s_first_questions_are_answered(
    programs: Path, tmp_path: Path, sandbox: SandboxHandle
) -> None:
    """README's Start as printed: the first block with another address, the others after its exports.

    Then the blocks of the tutorial, which begins with README's.
    """
    start = (ROOT / "README.md").read_text().partition("\n## Start\n")[2].partition("\n## ")[0]
    (_, first), *others = BLOCK.findall(start)
    tutorial = BLOCK.findall((ROOT / "docs" / "start.md").read_text())
    command = first.replace("https://api.openai.com/v1", sandbox.base_url)
    path = EVERYTHING_EMBEDDED["PATH"]
    process = subprocess.Popen(
        ["bash", "-c", command.replace("hushgate up", "exec hushgate up")],
        env=EVERYTHING_EMBEDDED | {"PATH": f"{programs}:{path}"},
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        exports = _exports(process)
        key = "export HUSHGATE_MODEL_KEY=sk-...\n"
        script = "".join(("set -eo pipefail\n", *exports, key, *map(_run, others + tutorial)))
        ended = subprocess.run(
            ["bash", "-c", script],
            env=EVERYTHING_EMBEDDED | {"PATH": f"{_programs(tmp_path)}:{path}"},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)

    assert ended.returncode == 0, ended.stderr
    assert "REPLIED" in ended.stdout
    assert ended.stdout.count("The shop is open Monday to Friday from 9:30 to 18:00.") >= 3
    assert "LOW_CONFIDENCE_ESCALATED" in ended.stdout
    assert "has no settings yet" not in ended.stderr


def _run(block: tuple[str, str]) -> str:
    language, text = block
    return text if language == "sh" else f"{RUNNERS[language]}{text}END\n"


def _programs(folder: Path) -> Path:
    """A folder with node, and with curl where the machine has none."""
    (found := folder / "bin").mkdir()
    (found / "node").symlink_to(NODE)
    if shutil.which("curl") is None:
        (found / "curl").write_text(CURL.format(python=shutil.which("python3")))
        (found / "curl").chmod(0o755)
    return found


def _exports(process: subprocess.Popen[str]) -> list[str]:
    assert process.stdout is not None
    found = []
    for line in process.stdout:
        found.append(line)
        if line.startswith(LAST_EXPORT):
            return found
    raise AssertionError(f"no exports: {found}")
