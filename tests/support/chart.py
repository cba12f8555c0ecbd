"""The Helm chart as manifests, rendered by helm itself, and the schemas of Kubernetes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml
from jsonschema import Draft7Validator, Draft202012Validator
from referencing import Registry, Resource

ROOT: Final = Path(__file__).parents[2]
CHART: Final = ROOT / "deploy" / "chart"
TOOLS: Final = Path(sys.prefix) / "chart"
VERSIONS: Final = ("v1.30.0", "v1.37.0")
Manifest = dict[str, Any]
FULL: Final[Mapping[str, Any]] = {
    "gateway": {"enabled": True},
    "keda": {"enabled": True, "redis": {"address": "redis:6379", "secret": "redis", "usernameKey": "user"}},
    "imagePullSecrets": ["registry"],
    "settings": {"HUSHGATE_MODEL": "m", "HUSHGATE_IN_FLIGHT": "500"},
    "review": {"url": "https://review.example.org", "proxies": "10.0.0.0/24"},
    "networkPolicy": {"httpFrom": [{"namespaceSelector": {}}], "metricsFrom": [{"podSelector": {}}]},
    "podAnnotations": {"team": "moderation"},
    "priorityClassName": "high",
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [{"key": "spot", "operator": "Exists"}],
    "image": {"digest": f"sha256:{'0' * 64}"},
    "shards": 2,
}
"""Every option of the chart."""


def helm(*arguments: str, values: Mapping[str, Any] | None = None) -> subprocess.CompletedProcess[str]:
    """Run helm, without any cluster."""
    own = TOOLS / "helm"
    program = str(own) if own.is_file() else shutil.which("helm")
    assert program is not None, "no helm: run make chart-tools, or install helm"
    options = ["--values", "-"] if values is not None else []
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "KUBECONFIG": "/nonexistent"}
    return subprocess.run(
        [program, *arguments, *options],
        input=yaml.safe_dump(values or {}),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@cache
def _rendered(values: str) -> tuple[Manifest, ...]:
    done = helm("template", "hg", str(CHART), "--namespace", "chat", values=json.loads(values))
    assert done.returncode == 0, done.stderr
    return tuple(each for each in yaml.load_all(done.stdout, yaml.CSafeLoader) if each)  # safe


def manifests(values: Mapping[str, Any] | None = None) -> tuple[Manifest, ...]:
    """Everything that the chart makes of these values, hooks too; not to be changed."""
    return _rendered(json.dumps(values or {}))


def named(kind: str, component: str, values: Mapping[str, Any] | None = None) -> Manifest:
    """The manifest of a kind for a component."""
    name = f"hg-hushgate-{component}"
    (found,) = (
        each for each in manifests(values) if (each["kind"], each["metadata"]["name"]) == (kind, name)
    )
    return found


def pods(values: Mapping[str, Any] | None = None) -> dict[str, Manifest]:
    """The pod template of every Deployment and Job, by component."""
    return {
        each["metadata"]["labels"]["app.kubernetes.io/component"]: each["spec"]["template"]
        for each in manifests(values)
        if each["kind"] in ("Deployment", "Job")
    }


def container(component: str, values: Mapping[str, Any] | None = None) -> Manifest:
    """The only container of a component's pods."""
    (found,) = pods(values)[component]["spec"]["containers"]
    return dict(found)


def accepts(values: Mapping[str, Any]) -> bool:
    """Whether the schema of the values accepts these; helm asks it too."""
    return not list(_values_schema().iter_errors(values))


@cache
def _values_schema() -> Draft7Validator:
    return Draft7Validator(json.loads((CHART / "values.schema.json").read_text()))


def problems(manifest: Manifest, version: str) -> Iterator[str]:
    """What the schemas of a version of Kubernetes say against a manifest; unknown fields are problems."""
    group, _, api = manifest["apiVersion"].rpartition("/")
    name = "-".join(filter(None, (manifest["kind"].lower(), group.partition(".")[0], api)))
    schema = json.loads((TOOLS / version / f"{name}.json").read_text())
    validator = Draft202012Validator(schema, registry=_definitions(version))
    for error in validator.iter_errors(manifest):
        yield f"{manifest['metadata']['name']} {error.json_path}: {error.message}"


@cache
def _definitions(version: str) -> Registry[Any]:
    found = Resource.from_contents(json.loads((TOOLS / version / "_definitions.json").read_text()))
    registry: Registry[Any] = Registry()
    full: Registry[Any] = registry.with_resource(found.id() or "_definitions.json", found)
    return full
