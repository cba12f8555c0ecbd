"""Builds what an owner publishes, into dist/: wheel, sdist, compose.yaml, list of materials, checksums.

Usage: python -m tools.dist TOOLS [--registry NAME] [--no-demo]

TOOLS is the folder of programs of an environment with tools/dist.lock. The wheel is then installed, with its
extra `local`, into an empty environment in an empty folder, where the demo must end well.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement

from sandbox import server
from tools import readme
from worker import __version__

ROOT: Final = Path(__file__).resolve().parents[1]
DIST: Final = ROOT / "dist"
COMPOSE: Final = ROOT / "docker-compose.yml"
IMAGE: Final = {"python_full_version": "3.13.0", "python_version": "3.13", "sys_platform": "linux"}
LOCKS: Final = ("worker.lock", "review.lock", "observability.lock")
BUILD: Final = re.compile(r"^( *)build:\n(?:\1 +.*\n)+", re.MULTILINE)
HEADER: Final = """\
# Hushgate {version} on one machine, from published images; needs no checkout. In an empty folder, once:
#   for name in {passwords}; do
#     echo "$name=$(openssl rand -hex 24)"; done > .env && chmod 600 .env
#   printf 'HUSHGATE_MODEL_URL=...\\nHUSHGATE_MODEL_KEY=...\\nHUSHGATE_MODEL=...\\n' >> .env
#   docker compose up -d --scale worker=2 && docker compose exec review hushgate doctor
# Without a model: HUSHGATE_MODEL_URL=http://sandbox:8099/v1 and --profile sandbox, which is no model.
"""


def compose_file(registry: str = "") -> str:
    """docker-compose.yml without what builds images; ours come from ``registry``, such as ghcr.io/OWNER."""
    text = COMPOSE.read_text(encoding="utf-8")
    body = BUILD.sub("", text[text.index("name: hushgate\n") :])
    if registry:
        body = re.sub(r":-(hushgate[\w-]*:)", rf":-{registry.rstrip('/')}/\1", body)
    passwords = dict.fromkeys(re.findall(r"\$\{(\w+PASSWORD):\?", body))
    return HEADER.format(version=__version__, passwords=" ".join(passwords)) + body


def main() -> None:
    """Build everything, check it, print what is there."""
    parser = argparse.ArgumentParser(prog="python -m tools.dist")
    parser.add_argument("tools", type=Path, help="programs of an environment with tools/dist.lock")
    parser.add_argument("--registry", default="", help="where the images of compose.yaml are published")
    parser.add_argument("--no-demo", action="store_true", help="do not install the wheel")
    given = parser.parse_args()
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    tools = given.tools.resolve()
    wheel = build_packages(tools / "python", DIST)
    run(tools / "python", "-m", "twine", "check", "--strict", *sorted(DIST.iterdir()))
    (DIST / "compose.yaml").write_text(compose_file(given.registry), encoding="utf-8")
    write_materials(tools, DIST / f"hushgate-{__version__}.cdx.json")
    if not given.no_demo:
        try_wheel(wheel)
    sums = [f"{digest(file)}  {file.name}\n" for file in sorted(DIST.iterdir())]
    (DIST / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")
    sys.stdout.write("".join(sums))


def build_packages(python: Path | str, place: Path) -> Path:
    """Build the sdist into this folder, and the wheel out of the sdist; the wheel."""
    build = (python, "-m", "hatchling", "build", "-d", place, "-t")
    run(*build, "sdist")
    with tempfile.TemporaryDirectory() as source:
        (sdist,) = place.glob("*.tar.gz")
        run("tar", "-xzf", sdist, "-C", source)
        run(*build, "wheel", cwd=next(Path(source).iterdir()))
    (wheel,) = place.glob("*.whl")
    return wheel


def write_materials(tools: Path, file: Path) -> None:
    """A CycloneDX list of the Python packages in the images, with hashes; checked against its schema."""
    text = "".join((ROOT / "deploy" / name).read_text(encoding="utf-8") for name in LOCKS)
    entries = dict.fromkeys(each.strip() for each in re.split(r"\n(?=\S)", text) if in_image(each))
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as lock:
        lock.write("\n".join(entries))
        lock.flush()
        options = ["--pyproject", str(ROOT / "pyproject.toml"), "--output-reproducible", "--validate"]
        run(tools / "cyclonedx-py", "requirements", *options, "--output-file", file, lock.name)


def in_image(entry: str) -> bool:
    """Whether an entry of a lock is installed in the image, which is Linux with Python 3.13."""
    marker = Requirement(entry.partition("\\\n")[0].strip()).marker
    return marker is None or marker.evaluate(IMAGE)


def try_wheel(wheel: Path) -> None:
    """Install the wheel as a newcomer does, follow README to its first reply, run the demo; print seconds.

    The newcomer's model is the sandbox.
    """
    with tempfile.TemporaryDirectory() as place, server.start() as model:
        programs, started = Path(place) / "environment" / "bin", time.monotonic()
        run(sys.executable, "-m", "venv", programs.parent)
        run(programs / "pip", "install", "--quiet", "--disable-pip-version-check", f"{wheel}[local]")
        installed = time.monotonic()
        (empty := Path(place) / "empty").mkdir()
        readme.add_curl(programs)
        environment = clean() | {"PATH": f"{programs}:{os.environ['PATH']}"}
        with readme.first_block(environment, empty, model.base_url) as exports:
            until_reply = [block for block in readme.start_blocks()[1:] if block[0] != "js"][:3]
            said = readme.run_blocks(exports, until_reply, environment, empty)
            replied = time.monotonic()
        if "9:30 to 18:00" not in said.stdout:
            sys.exit(f"make dist: no reply to README's message: {said.stderr}")
        demo = time.monotonic()
        run(programs / "hushgate", "demo", "--rate", "200", cwd=empty, stdout=subprocess.DEVNULL)
        ended = time.monotonic()
    figures = {
        "install_s": round(installed - started),
        "first_reply_s": round(replied - started),
        "demo_s": round(ended - demo),
    }
    sys.stdout.write(f"{json.dumps(figures)}\n")


def run(*words: str | Path, cwd: Path = ROOT, stdout: int | None = None) -> None:
    """Run a program with no variable of Hushgate or Python; its failure ends the build."""
    done = subprocess.run(  # noqa: S603  # programs of this file
        words, cwd=cwd, env=clean(), stdout=stdout, stdin=subprocess.DEVNULL, check=False
    )
    if done.returncode:
        sys.exit(
            f"make dist: {Path(words[0]).name} {' '.join(map(str, words[1:]))} ended with {done.returncode}"
        )


def clean() -> dict[str, str]:
    """The environment without variables of Hushgate and Python."""
    ours = ("HUSHGATE_", "DATABASE_", "REDIS_", "OPENAI_", "OPENROUTER_", "PYTHON")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


def digest(file: Path) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


if __name__ == "__main__":
    main()
