"""A container engine with the base images: the one that answers, or one of Debian that ends here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
FILES: Final = ROOT / "out" / "containers"
"""Images and stand-ins, kept between runs (2 GB); `make clean` removes them."""
PLUGIN: Final = FILES / "files" / "compose" / "usr" / "libexec" / "docker" / "cli-plugins" / "docker-compose"
START_S: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """How to reach the engine.

    Attributes:
        environment: of its client.
        compose: the words of Compose 2.
        build_options: words of `docker build`; an engine of ours has no network of its own for builds.
    """

    environment: Mapping[str, str]
    compose: tuple[str, ...]
    build_options: tuple[str, ...]

    def run(self, *words: str, stdin: str = "", cwd: Path = ROOT, check: bool = True) -> str:
        """What a program prints on standard output; a failure is an AssertionError with its last words."""
        done = subprocess.run(  # noqa: S603  # programs of this folder
            words, env=self.environment, input=stdin, cwd=cwd, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0 or not check, f"{' '.join(words)}\n{(done.stdout + done.stderr)[-3000:]}"
        return done.stdout.strip()


@contextmanager
def engine() -> Iterator[Engine]:
    """The engine with every base image of deploy/Dockerfile and docker-compose.yml.

    Where no registry is reachable, stand-ins are made of Debian's packages (stand_ins.sh).
    """
    FILES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="hg-", ignore_cleanup_errors=True) as place:  # of a short path
        environment, daemon = dict(os.environ), None
        options: tuple[str, ...] = ()
        if not _answers(environment):
            environment |= {"DOCKER_HOST": f"unix://{place}/docker.sock", "DOCKER_BUILDKIT": "0"}
            daemon, options = _started(Path(place), environment), ("--network", "host")
        try:
            yield Engine(
                environment=environment, build_options=options, compose=_with_base_images(environment)
            )
        finally:
            if daemon is not None:
                daemon.terminate()
                daemon.wait(START_S)
                _succeeds(environment, "umount", f"{place}/exec/netns/default")  # which the daemon leaves


def _started(place: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """A daemon with files of its own that changes no firewall rule."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        sys.exit("make containers: no container engine answers; start one, or run as root on Debian")
    if shutil.which("dockerd") is None:
        install = "apt-get update -qq && apt-get install -y -qq --no-install-recommends docker.io >/dev/null"
        _call("sh", "-c", install, environment={**environment, "DEBIAN_FRONTEND": "noninteractive"})
    words = ["--iptables=false", "--ip6tables=false", "--bridge=none", f"--host={environment['DOCKER_HOST']}"]
    folders = [f"--data-root={FILES}/engine", f"--exec-root={place}/exec", f"--pidfile={place}/pid"]
    with (FILES / "engine.log").open("wb") as log:
        daemon = subprocess.Popen(  # noqa: S603
            ["dockerd", *words, *folders],  # noqa: S607
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    until = time.monotonic() + START_S
    while not _answers(environment):
        if daemon.poll() is not None or time.monotonic() > until:
            daemon.kill()
            sys.exit(f"make containers: the engine did not start: {FILES}/engine.log")
        time.sleep(0.5)
    return daemon


def _with_base_images(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Get the base images; the words of Compose."""
    texts = (ROOT / "deploy" / "Dockerfile", ROOT / "docker-compose.yml")
    found = re.findall(r"_IMAGE(?:=|:-)([\w./-]+:[\w.-]+)", "".join(each.read_text() for each in texts))
    bases = {each for each in found if not each.startswith("hushgate")}
    here = [each for each in bases if _succeeds(environment, "docker", "image", "inspect", each)]
    missing = [each for each in bases.difference(here) if not _succeeds(environment, "docker", "pull", each)]
    if missing:
        script = str(Path(__file__).with_name("stand_ins.sh"))
        _call(script, str(FILES / "files"), environment=environment)
    return ("docker", "compose") if _succeeds(environment, "docker", "compose", "version") else (str(PLUGIN),)


def _answers(environment: Mapping[str, str]) -> bool:
    return shutil.which("docker") is not None and _succeeds(environment, "docker", "info")


def _succeeds(environment: Mapping[str, str], *words: str) -> bool:
    return (
        subprocess.run(words, env=environment, capture_output=True, check=False).returncode == 0  # noqa: S603
    )


def _call(*words: str, environment: Mapping[str, str]) -> None:
    subprocess.run(words, env=environment, stdout=subprocess.DEVNULL, check=True)  # noqa: S603
