"""The wheel: what is in it, and what it does beside a host application and without its extras."""

from __future__ import annotations

import io
import os
import re
import resource
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from features.feature import FEATURES
from tools.dist import ROOT, build_packages
from worker import extras
from worker.adapters import document_process
from worker.errors import ConfigurationError

PRODUCT: Final = {"features", "worker", "tasks", "db", "review", "gateway", "cli", "sandbox", *FEATURES}
RUN: Final = """
import sys
from pathlib import Path
sys.path[:] = [each for each in sys.path if each and not (Path(each) / "pyproject.toml").exists()]
sys.path.insert(0, sys.argv.pop(1))
sys.modules.update(dict.fromkeys(sys.argv.pop(1).split()))
sys.argv[0] = "hushgate"
from cli.main import main
main()
"""
"""An installation of the wheel, without the modules that the second word names."""

Hushgate = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built out of the sdist."""
    return build_packages(sys.executable, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def hushgate(wheel: Path) -> Hushgate:
    """Runs a command of the installed wheel, in the current folder or in ``folder``."""
    installed = wheel.parent / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)

    def run(*words: str, without: str = "", folder: Path | None = None) -> subprocess.CompletedProcess[str]:
        absent = " ".join((*extras.MODULES[without], "") if without else ())
        return subprocess.run(
            [sys.executable, "-P", "-c", RUN, str(installed), absent, *words],
            env={**os.environ, "PYTHONPATH": str(installed), "COLUMNS": "200"},
            cwd=folder or wheel.parent,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_the_wheel_has_the_product_and_no_tool(wheel: Path) -> None:
    """Chaos, soak, fuzzer, benchmarks and tests stay in the clone; every data file is there."""
    names = zipfile.ZipFile(wheel).namelist()
    tracked = subprocess.run(
        ["git", "ls-files", *sorted(PRODUCT)], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split()

    assert {name for name in names if ".dist-info/" not in name} >= set(tracked)
    assert {name.partition("/")[0] for name in names if ".dist-info/" not in name} == PRODUCT


@pytest.mark.parametrize(
    ("words", "without"), [("demo", "local"), ("up", "review"), ("assess conversations x", "local")]
)
def test_a_command_that_starts_servers_names_the_extra_local(
    hushgate: Hushgate, words: str, without: str
) -> None:
    """One line and the exit code of a missing package, also where only another extra is missing."""
    ended = hushgate(*words.split(), without=without)

    assert (ended.returncode, ended.stdout) == (3, "")
    (line,) = ended.stderr.splitlines()
    assert line.startswith(f"hushgate {words.removesuffix(' x')}: expected the extra hushgate[local] (pip")


def test_without_extras_the_list_of_commands_is_printed(hushgate: Hushgate) -> None:
    """It imports none of them: a command says what it needs when it is run."""
    ended = hushgate("--help", without="review")

    assert (ended.returncode, ended.stderr) == (0, "")
    assert "Serve the review pages" in ended.stdout


@pytest.mark.parametrize("command", ["review", "gateway", "sandbox"])
def test_a_command_without_its_extra_names_it(hushgate: Hushgate, command: str) -> None:
    """The message can be pasted into a shell."""
    ended = hushgate(command, without="review")

    assert ended.returncode == 3
    assert f"hushgate {command}: expected the extra hushgate[review]" in ended.stderr
    assert "pip install 'hushgate[review]'" in ended.stderr


def test_a_host_with_modules_of_our_names_does_not_collide(hushgate: Hushgate, tmp_path: Path) -> None:
    """The folder of the host is not searched, by the command or by the worker that it starts."""
    for name in ("tasks", "worker", "db", "cli"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('a module of the host')")
    listed = hushgate("schema", "event", folder=tmp_path)
    worker = hushgate("worker", "--loglevel", "LOUD", folder=tmp_path)

    assert listed.returncode == 0, listed.stderr
    assert "a module of the host" not in listed.stderr + worker.stdout + worker.stderr


def test_a_setting_without_its_extra_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """SENTRY_DSN needs hushgate[sentry]; other missing modules are defects."""
    monkeypatch.setitem(sys.modules, "sentry_sdk", None)

    with pytest.raises(ConfigurationError, match=r"^SENTRY_DSN: expected the extra hushgate\[sentry\]"):
        extras.load("sentry_sdk", needed_by="SENTRY_DSN")
    with pytest.raises(ModuleNotFoundError):
        extras.load("no_such_module", needed_by="SENTRY_DSN")


def test_a_document_without_the_extra_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The reading process says which extra the deployment lacks."""
    for name in [
        each for each in sys.modules if each.startswith(("worker.documents.readers", "worker.documents.pdf"))
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("worker.documents.readers", raising=False)
    monkeypatch.delattr("worker.documents.pdf", raising=False)
    monkeypatch.setitem(sys.modules, "pypdfium2", None)

    asked = b"{}\n%PDF"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(asked)))
    monkeypatch.setattr(sys, "argv", ["document_process", "cut", "pdf"])
    monkeypatch.setattr(resource, "setrlimit", lambda *_: None)

    with pytest.raises(SystemExit) as ended:
        document_process.main()

    assert ended.value.code == document_process.REFUSED
    assert re.search(r"cannot be read here: .*hushgate\[documents\]", capsys.readouterr().out)
