"""The systemd units: checked by systemd itself, and held against our commands and settings."""

from __future__ import annotations

import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.main import command_line
from tests.contract.test_deploy import AFTER_DRAIN_S
from worker.settings import ALIASES, Settings

UNITS = Path(__file__).parents[2] / "deploy" / "systemd"
SERVICES = sorted(UNITS.glob("*.service"))
OWN = Path(sys.prefix) / "systemd"
EXPOSURE = 20
"""Tenths: systemd counts 2.0 and less as little exposed."""


def analyze(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run systemd-analyze on units in a folder, without a running systemd."""
    libraries = OWN / "usr/lib/x86_64-linux-gnu/systemd"
    program = shutil.which("systemd-analyze", path=f"{os.environ['PATH']}:{OWN}/usr/bin")
    assert program is not None, "no systemd-analyze: run make systemd-analyze, or install systemd"
    environment = {"PATH": os.environ["PATH"], "SYSTEMD_UNIT_PATH": f"{folder}:"}
    if program.startswith(str(OWN)):
        environment["LD_LIBRARY_PATH"] = str(libraries)
        environment["SYSTEMD_UNIT_PATH"] = f"{folder}:{OWN}/lib/systemd/system"
    return subprocess.run(
        [program, *arguments], env=environment, cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The units as they are installed, with the commands of this environment and one worker."""
    folder = tmp_path_factory.mktemp("units") / "system"
    shutil.copytree(UNITS, folder)
    for unit in folder.glob("*.service"):
        unit.write_text(unit.read_text().replace("/opt/hushgate/bin", f"{sys.prefix}/bin"))
    shutil.copy(folder / "hushgate-worker@.service", folder / "hushgate-worker@1.service")
    return folder


def names(folder: Path) -> list[str]:
    """The units that can be started."""
    units = (*folder.glob("*.service"), *folder.glob("*.target"))
    return [each.name for each in units if "@." not in each.name]


def test_systemd_finds_nothing_to_correct(installed: Path) -> None:
    """Neither a key nor a value nor a command that it does not know."""
    done = analyze("verify", "--man=no", *names(installed), folder=installed)
    spoilt = installed / "hushgate-beat.service"
    text = spoilt.read_text()
    spoilt.write_text(text.replace("TimeoutStopSec", "TimeoutStopSecs"))
    wrong = analyze("verify", "--man=no", spoilt.name, folder=installed)
    spoilt.write_text(text)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "Unknown key" in wrong.stderr
    assert "'TimeoutStopSecs'" in wrong.stderr


def test_every_service_is_hardened(installed: Path) -> None:
    """By the file that all share, also the instances of the worker."""
    services = [each for each in names(installed) if each.endswith(".service")]
    options = ("security", "--offline=true", "--no-pager", f"--threshold={EXPOSURE}")
    done = {each: analyze(*options, f"./{each}", folder=installed) for each in services}

    assert len(services) == 7
    assert [each for each, result in done.items() if result.returncode != 0] == []


def command(text: str) -> tuple[dict[str, str], list[str]]:
    """The variables that the command of a unit sets by itself, and its words."""
    (found,) = re.findall(r"^ExecStart=((?:.*\\\n)*.*)$", text, re.MULTILINE)
    words = shlex.split(found.replace("\\\n", " "))
    if words[0] != "/usr/bin/env":
        return {}, words
    variables = list(itertools.takewhile(lambda word: "=" in word, words[1:]))
    return dict(each.split("=", 1) for each in variables), words[1 + len(variables) :]


def test_no_file_of_settings_overrides_what_a_unit_needs() -> None:
    """Systemd prefers EnvironmentFile= to Environment=, wherever the lines are."""
    own = {each.stem: command(each.read_text())[0] for each in SERVICES}
    text = "".join(each.read_text() for each in SERVICES)

    assert {stem: values for stem, values in own.items() if values} == {
        "hushgate-beat": {
            "HUSHGATE_BEAT_FILE": "%t/hushgate-beat/schedule",
            "HUSHGATE_ENGINE_ENABLED": "false",
        },
        "hushgate-worker@": {"HUSHGATE_HEARTBEAT_FILE": "%t/hushgate-worker-%i/alive"},
    }
    assert re.findall(r"^Environment=(.*)$", text, re.MULTILINE) == ["HUSHGATE_ALERTS_EVERY_S=300"], (
        "a default"
    )


@pytest.mark.parametrize("unit", SERVICES, ids=lambda path: path.stem)
def test_the_command_and_its_variables_exist(unit: Path) -> None:
    """The options are those of `hushgate`; further ones of worker and beat go to Celery."""
    text = unit.read_text()
    line = command(text)[1]
    known = line[1:2] if line[1] in ("worker", "beat") else line[1:]
    shown = CliRunner().invoke(command_line(), [*known, "--help"])
    variables = set(re.findall(r"\b(HUSHGATE_\w+)=", text))

    assert line[0] == "/opt/hushgate/bin/hushgate"
    assert shown.exit_code == 0, shown.output
    assert variables <= set(ALIASES.values())


def test_only_the_migration_reads_the_owners_login() -> None:
    """Each process reads the file of its login, beside the settings that all share."""
    shared = (UNITS / "hushgate-.service.d" / "hardening.conf").read_text()
    read = {
        each.stem: re.findall(r"^EnvironmentFile=/etc/hushgate/(\w+).env$", each.read_text(), re.MULTILINE)
        for each in SERVICES
    }

    assert "EnvironmentFile=/etc/hushgate/settings.env" in shared
    assert read == {
        "hushgate-audit-log": ["audit"],
        "hushgate-beat": ["worker", "review"],
        "hushgate-exporter": ["review"],
        "hushgate-gateway": ["gateway"],
        "hushgate-migrate": ["owner"],
        "hushgate-review": ["review"],
        "hushgate-worker@": ["worker"],
    }


def test_a_worker_is_given_the_time_to_drain() -> None:
    """SIGKILL comes after the drain and the last deliveries."""
    text = (UNITS / "hushgate-worker@.service").read_text()
    found = re.search(r"^TimeoutStopSec=(\d+)$", text, re.MULTILINE)

    assert found is not None
    assert int(found[1]) >= Settings.model_fields["drain_s"].default + AFTER_DRAIN_S
