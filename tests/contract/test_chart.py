"""The Helm chart: rendered and linted by helm, held against the schemas of Kubernetes and our settings."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from cli.main import command_line
from tasks.metrics.names import OLDEST_ENTRY_AGE
from tasks.process.heartbeat_file import READY_SUFFIX
from tests.support.chart import (
    CHART,
    FULL,
    VERSIONS,
    Manifest,
    accepts,
    container,
    helm,
    manifests,
    named,
    pods,
    problems,
)
from worker import __version__
from worker.settings import ALIASES, SECRETS, LoginSettings, Settings

AFTER_DRAIN_S = 15
KUBERNETES = ("apps/v1", "batch/v1", "networking.k8s.io/v1", "policy/v1", "v1")
SCALED_OBJECT = {
    "scaleTargetRef",
    "pollingInterval",
    "cooldownPeriod",
    "minReplicaCount",
    "maxReplicaCount",
    "fallback",
    "advanced",
    "triggers",
}
STREAMS_TRIGGER = {"address", "enableTLS", "databaseIndex", "stream", "streamLength"}
API_TRIGGER = {"url", "format", "valueLocation", "targetValue"}
"""Fields of KEDA 2.17, from its documentation; it publishes no schema that a package has."""


def test_helm_finds_nothing_to_correct() -> None:
    """Warnings count, with the default values and with every option."""
    for values in ({}, FULL):
        done = helm("lint", "--strict", str(CHART), values=values)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("values", [{}, FULL], ids=["default", "full"])
def test_kubernetes_knows_every_field(values: Mapping[str, Any], version: str) -> None:
    """The oldest version that the chart names and the newest; a misspelt field is a problem."""
    found = [each for each in manifests(values) if each["apiVersion"] in KUBERNETES]
    others = {each["apiVersion"] for each in manifests(values)} - set(KUBERNETES)
    wrong = named("Deployment", "worker") | {"spce": {}}

    assert len(found) > 8
    assert others <= {"keda.sh/v1alpha1"}
    assert [problem for each in found for problem in problems(each, version)] == []
    assert "'spce' was unexpected" in next(problems(wrong, version))
    oldest = yaml.safe_load((CHART / "Chart.yaml").read_text())["kubeVersion"]
    assert oldest == f">={VERSIONS[0].removeprefix('v')}-0"


def test_no_pod_is_root_or_writes_or_talks_to_the_cluster() -> None:
    """Every pod, the migration's too, keeps to the restricted profile."""
    assert pods(FULL).keys() == {"worker", "beat", "review", "gateway", "exporter", "migrate"}
    for component, template in pods(FULL).items():
        pod, main = template["spec"], container(component, FULL)
        assert pod["automountServiceAccountToken"] is False
        assert pod["enableServiceLinks"] is False, "its variables would look like settings"
        assert pod["securityContext"] == {
            "runAsNonRoot": True,
            "runAsUser": 10001,
            "runAsGroup": 10001,
            "seccompProfile": {"type": "RuntimeDefault"},
        }
        assert main["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert main["resources"].keys() == {"requests", "limits"}
        assert "memory" in main["resources"]["limits"]
        shown = main["image"].split("@")[0].split(":")[0]
        assert shown == ("hushgate-review" if component in {"review", "gateway", "migrate"} else "hushgate")
        assert [each["mountPath"] for each in main["volumeMounts"]] == ["/tmp"]


def test_every_process_gets_the_secret_of_its_login_only() -> None:
    """Only the migration can read the owner's; nothing secret is in a manifest."""
    read = {
        component: [
            each["secretRef"]["name"] for each in container(component, FULL)["envFrom"] if "secretRef" in each
        ]
        for component in pods(FULL)
    }
    text = json.dumps(manifests(FULL))

    assert read == {
        "worker": ["hushgate-worker"],
        "beat": ["hushgate-worker", "hushgate-review"],
        "review": ["hushgate-review"],
        "gateway": ["hushgate-gateway"],
        "exporter": ["hushgate-review"],
        "migrate": ["hushgate-owner"],
    }
    assert not [name for name in SECRETS if f'"{name}"' in text]


def test_every_variable_is_a_setting() -> None:
    """A misspelt one would be ignored in silence. The chart knows shards before this release does."""
    data = named("ConfigMap", "settings", FULL)["data"]
    own = {each["name"] for component in pods(FULL) for each in container(component, FULL).get("env", ())}

    assert (set(data) | own) - {"HUSHGATE_SHARDS"} <= set(ALIASES.values())
    assert named("ConfigMap", "settings")["data"].keys() == {
        "HUSHGATE_METRICS_HOST",
        "HUSHGATE_METRICS_PORT",
        "HUSHGATE_DRAIN_S",
    }


def test_a_secret_is_refused_among_the_settings() -> None:
    """It would be stored in a ConfigMap, which many may read; helm says so."""
    done = helm("template", "hg", str(CHART), values={"settings": {"OPENAI_API_KEY": "x"}})

    assert [name for name in SECRETS if accepts({"settings": {name: "x"}})] == []
    assert done.returncode != 0
    assert "don't meet the specifications of the schema" in done.stderr


def test_other_settings_are_accepted_and_unknown_values_refused() -> None:
    """Every setting that is no secret can be set, once."""
    data = named("ConfigMap", "settings", FULL)["data"]
    given = {each["name"] for component in pods(FULL) for each in container(component, FULL).get("env", ())}
    owned = (set(data) | given) - set(FULL["settings"])
    free = {name: "1" for name in ALIASES.values() if name not in SECRETS | owned}
    refused: list[dict[str, Any]] = [
        {"worker": {"replica": 3}},
        {"worker": {"replicas": 0}},
        {"keda": {"enabled": True, "redis": {"address": ""}}},
        {"keda": {"enabled": True, "minReplicas": 0, "redis": {"address": "r:1"}}},
        {"settings": {"HUSHGATE_IN_FLIGHT": 5}},
        *({"settings": {name: "1"}} for name in owned),
    ]

    assert named("ConfigMap", "settings", {"settings": free})["data"].keys() >= free.keys()
    assert [each for each in refused if accepts(each)] == []
    assert accepts({})


def test_a_worker_is_given_the_time_to_drain() -> None:
    """SIGKILL comes after the drain and the last deliveries, whatever the drain is."""
    for seconds in (Settings.model_fields["drain_s"].default, 600.0):
        values = {"worker": {"drainSeconds": int(seconds)}}
        grace_s = pods(values)["worker"]["spec"]["terminationGracePeriodSeconds"]
        assert grace_s >= seconds + AFTER_DRAIN_S
        assert float(named("ConfigMap", "settings", values)["data"]["HUSHGATE_DRAIN_S"]) == seconds


@pytest.mark.parametrize("component", ["worker", "beat", "review", "gateway", "exporter", "migrate"])
def test_the_command_exists(component: str) -> None:
    """The options are those of `hushgate`, the image's entry point; further ones of beat go to Celery."""
    arguments = container(component, FULL)["args"]
    known = arguments[:1] if component == "beat" else arguments
    shown = CliRunner().invoke(command_line(), [*known, "--help"])

    assert shown.exit_code == 0, shown.output


def test_ports_are_those_of_the_processes() -> None:
    """Services, probes and commands name one port, and selectors find the pods."""
    for component, port in (("review", 8085), ("gateway", 8086)):
        main = container(component, FULL)
        ports = {each["name"]: each["containerPort"] for each in main["ports"]}
        service = named("Service", component, FULL)["spec"]
        assert ports["http"] == port == int(main["args"][-1])
        assert service["ports"] == [{"name": "http", "port": 80, "targetPort": "http"}]
        assert main["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "http"}
    assert container("gateway", FULL)["readinessProbe"]["httpGet"]["path"] == "/readyz"
    for each in manifests(FULL):
        if each["kind"] in ("Service", "PodDisruptionBudget", "NetworkPolicy"):
            assert _selected(each), each["metadata"]["name"]


def _selected(manifest: Manifest) -> list[str]:
    """The components whose pods a selector finds; exactly its own."""
    spec = manifest["spec"]
    selector = spec.get("selector") or spec["podSelector"]
    wanted = selector.get("matchLabels", selector).items()
    found = [name for name, pod in pods(FULL).items() if wanted <= pod["metadata"]["labels"].items()]
    assert found == [manifest["metadata"]["labels"]["app.kubernetes.io/component"]]
    return found


@pytest.mark.parametrize(
    ("component", "probe", "file"),
    [
        ("worker", "livenessProbe", "worker"),
        ("worker", "readinessProbe", f"worker{READY_SUFFIX}"),
        ("worker", "startupProbe", "worker"),
        ("beat", "livenessProbe", "beat-schedule.db"),
    ],
)
def test_a_probe_tells_a_fresh_file_from_an_old_one(
    component: str, probe: str, file: str, tmp_path: Path
) -> None:
    """The very command, in the shell of the image's base."""
    main = container(component)
    environment = {each["name"]: each["value"] for each in main["env"]}
    name = environment["HUSHGATE_HEARTBEAT_FILE" if component == "worker" else "HUSHGATE_BEAT_FILE"]
    line = [each.replace("/tmp/", f"{tmp_path}/") for each in main[probe]["exec"]["command"]]

    def code() -> int:
        return subprocess.run(line, check=False, timeout=10).returncode

    missing = code()
    watched = tmp_path / file
    watched.touch()
    fresh = code()
    os.utime(watched, (time.time() - 90,) * 2)

    assert file.startswith(Path(name).name)
    assert (missing, fresh, code()) == (1, 0, 1)


def test_keda_scales_on_the_length_of_the_stream_and_on_age() -> None:
    """Never on lag: workers read ahead, so the lag is 0 at once. A consumer group would choose it."""
    keda = {"enabled": True, "redis": {"address": "redis:6379"}}
    spec = named("ScaledObject", "worker", {"keda": keda})["spec"]
    entries, age = spec["triggers"]

    assert spec.keys() == SCALED_OBJECT
    assert spec["scaleTargetRef"] == {"name": named("Deployment", "worker")["metadata"]["name"]}
    assert (entries["type"], entries["metadata"].keys()) == ("redis-streams", STREAMS_TRIGGER)
    assert (entries["metadata"]["stream"], entries["metadata"]["streamLength"]) == ("hushgate:events", "1000")
    assert (age["type"], age["metadata"].keys()) == ("metrics-api", API_TRIGGER)
    assert age["metadata"]["valueLocation"] == OLDEST_ENTRY_AGE.name
    assert age["metadata"]["url"] == "http://hg-hushgate-exporter.chat.svc:9109/metrics"
    assert named("Service", "exporter")["spec"]["ports"][0]["port"] == 9109
    assert all(isinstance(value, str) for each in spec["triggers"] for value in each["metadata"].values())
    assert spec["minReplicaCount"] >= 1
    assert "replicas" in named("Deployment", "worker")["spec"]
    assert "replicas" not in named("Deployment", "worker", {"keda": keda})["spec"]


def test_keda_sees_every_shard() -> None:
    """One trigger a stream; the greatest counts, so each has its share of the target."""
    values = {**FULL, "settings": {"HUSHGATE_STREAM": "a:b"}}
    triggers = named("ScaledObject", "worker", values)["spec"]["triggers"]
    streams = [each for each in triggers if each["type"] == "redis-streams"]

    assert [each["metadata"]["stream"] for each in streams] == ["a:b:0/2", "a:b:1/2"]
    assert {each["metadata"]["streamLength"] for each in streams} == {"500"}
    assert {each["authenticationRef"]["name"] for each in streams} == {"hg-hushgate-redis"}
    assert named("TriggerAuthentication", "redis", FULL)["spec"]["secretTargetRef"] == [
        {"parameter": "password", "name": "redis", "key": "password"},
        {"parameter": "username", "name": "redis", "key": "user"},
    ]


def test_the_network_is_closed_unless_opened() -> None:
    """Nothing reaches a pod by default; peers reach the pages or the metrics, and nothing else."""
    components = {"worker", "beat", "review", "gateway", "exporter"}
    closed = [each for each in manifests() if each["kind"] == "NetworkPolicy"]
    opened = {name: named("NetworkPolicy", name, FULL)["spec"]["ingress"] for name in components}
    reached = {
        name: [port["port"] for rule in rules for port in rule["ports"]] for name, rules in opened.items()
    }

    assert len(closed) == 4  # the gateway is off
    assert all(each["spec"]["ingress"] == [] for each in closed)
    assert all(each["spec"]["policyTypes"] == ["Ingress", "Egress"] for each in closed)
    assert reached == {
        "worker": [9110],
        "beat": [9110],
        "review": [8085, 9110],
        "gateway": [8086, 9110],
        "exporter": [9110],
    }


def test_migrations_run_before_the_pods_of_a_release() -> None:
    """As a hook that helm repeats at each upgrade, with the owner's login and the passwords of the others."""
    job = named("Job", "migrate")
    hook = job["metadata"]["annotations"]

    assert hook["helm.sh/hook"] == "pre-install,pre-upgrade"
    checking = named("Job", "migrate", {"migrate": {"gatewayChecks": True}})["spec"]["template"]["spec"]

    assert container("migrate")["args"] == ["migrate", "--create-logins"]
    assert checking["containers"][0]["args"] == ["migrate", "--create-logins", "--gateway-checks"]
    assert {
        "HUSHGATE_DB_WORKER_PASSWORD",
        "HUSHGATE_DB_REVIEW_PASSWORD",
        "HUSHGATE_DB_AUDIT_PASSWORD",
        "HUSHGATE_DB_GATEWAY_PASSWORD",
    } <= {str(field.alias) for field in LoginSettings.model_fields.values()}
    assert not [each for each in manifests({"migrate": {"enabled": False}}) if each["kind"] == "Job"]


def test_migrations_read_the_settings_without_the_later_config_map() -> None:
    """They store the limits of HUSHGATE_KEEP, below which no worker deletes."""
    (container,) = pods(FULL)["migrate"]["spec"]["containers"]

    assert {each["name"]: each["value"] for each in container["env"]} == FULL["settings"]
    assert "env" not in pods()["migrate"]["spec"]["containers"][0]


def test_one_beat_at_any_time() -> None:
    """Two would start every sweep twice, also during an upgrade."""
    spec = named("Deployment", "beat")["spec"]

    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})


def test_the_chart_has_the_version_of_the_code() -> None:
    """And every value that the schema allows has a default and a description."""
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())

    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)
    assert schema["properties"].keys() == values.keys() | {"global"}
    assert [path for path in _leaves(schema, "") if not path[1]] == []
    assert f"-{__version__}" in named("Deployment", "worker")["metadata"]["labels"]["helm.sh/chart"]


def _leaves(schema: dict[str, Any], path: str) -> list[tuple[str, str]]:
    """Path and description of every value."""
    if "$ref" in schema:
        return [(path, "resources")]
    if not (properties := schema.get("properties")):
        return [(path, schema.get("description", ""))]
    return [leaf for name, each in properties.items() for leaf in _leaves(each, f"{path}.{name}")]
