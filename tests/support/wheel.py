"""The built wheel, installed as a user has it: without the checkout, in an environment of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

from tools.dist import build_packages


def installed(place: Path) -> Path:
    """The programs of a virtual environment with the wheel; the dependencies are those of the tests.

    A path in a file `.pth` adds no other such file: the checkout of an editable installation stays out.
    """
    environment = place / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    programs = environment / "bin"
    (packages,) = (environment / "lib").glob("python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    install = [
        *("install", "--quiet", "--no-deps", "--no-index", "--no-compile"),
        str(build_packages(sys.executable, place)),
    ]
    pip = [sys.executable, "-m", "pip", "--python", str(programs / "python"), *install]
    subprocess.run(pip, env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}, check=True)
    return programs
