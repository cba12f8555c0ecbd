"""Follows README's Start as printed: the first block with another model, the others after its exports."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
BLOCK: Final = re.compile(r"^```(sh|python|js)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RUNNERS: Final = {"sh": "", "python": "python - <<'END'\n", "js": "node --input-type=module - <<'END'\n"}
MODEL: Final = "https://api.openai.com/v1"
KEY: Final = "export HUSHGATE_MODEL_KEY=sk-...\n"
LAST_EXPORT: Final = "export HUSHGATE_SECRETS_KEY="
CURL: Final = """#!{python}
import sys, urllib.request
words = dict(zip(sys.argv[2:], sys.argv[3:]))
headers = dict(word.split(": ", 1) for flag, word in zip(sys.argv, sys.argv[1:]) if flag == "-H")
request = urllib.request.Request(sys.argv[2], words["-d"].encode(), headers)
print(urllib.request.urlopen(request).read().decode())
"""
"""For machines without curl: as much of the command as README needs."""


def blocks(text: str) -> list[tuple[str, str]]:
    """The blocks of a document that a reader runs: language and text."""
    return BLOCK.findall(text)


def start_blocks() -> list[tuple[str, str]]:
    """The blocks of README's Start; the first runs until Ctrl-C."""
    return blocks((ROOT / "README.md").read_text().partition("\n## Start\n")[2].partition("\n## ")[0])


@contextmanager
def first_block(environment: Mapping[str, str], folder: Path, model_url: str) -> Iterator[list[str]]:
    """Run the first block with the model at this address; the lines that another shell needs."""
    command = start_blocks()[0][1].replace(MODEL, model_url).replace("hushgate up", "exec hushgate up")
    process = subprocess.Popen(  # noqa: S603  # our own document
        ["bash", "-c", command],  # noqa: S607
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield [*_exports(process), KEY]
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def run_blocks(
    exports: Iterable[str], others: Iterable[tuple[str, str]], environment: Mapping[str, str], folder: Path
) -> subprocess.CompletedProcess[str]:
    """Run further blocks, one after the other, in one shell that ends with the first failure."""
    shell = ["bash", "-c", "".join(("set -eo pipefail\n", *exports, *map(_in_shell, others)))]
    return subprocess.run(shell, env=environment, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603


def add_curl(folder: Path) -> None:
    """Put curl into this folder of programs where the machine has none."""
    if shutil.which("curl") is None:
        (folder / "curl").write_text(CURL.format(python=shutil.which("python3")))
        (folder / "curl").chmod(0o755)


def _in_shell(block: tuple[str, str]) -> str:
    language, text = block
    return text if language == "sh" else f"{RUNNERS[language]}{text}END\n"


def _exports(process: subprocess.Popen[str]) -> list[str]:
    assert process.stdout is not None
    found = []
    for line in process.stdout:
        found.append(line)
        if line.startswith(LAST_EXPORT):
            return found
    raise AssertionError(f"no exports: {found}")
