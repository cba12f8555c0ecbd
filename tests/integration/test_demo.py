"""``hushgate demo`` as a script and as a person runs it."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
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
