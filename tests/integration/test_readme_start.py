"""The blocks of README's Start, run as they are printed, beside ``hushgate up``."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.support.terminal import HUSHGATE

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
