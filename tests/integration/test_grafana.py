"""Dashboards: Grafana's own models read them, and Prometheus answers each query from recorded metrics."""

from __future__ import annotations

import copy
import json
import math
import re
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard as GrafanaDashboard

from cli.deployment.metrics import DASHBOARDS
from tasks.alerts.conditions import SILENT
from tasks.metrics.names import METRICS, MetricKind, MetricSpec
from tests.support.promtool import program, promtool
from tests.support.running import eventually

ROOT: Final = Path(__file__).parents[2]
STEP_S: Final = 60
STEPS: Final = 70
PAGES: Final = {
    name: json.loads((ROOT / "deploy" / "dashboards" / f"{name}.json").read_text()) for name in DASHBOARDS
}
QUERIES: Final = sorted(
    {target["expr"] for page in PAGES.values() for panel in page["panels"] for target in panel["targets"]}
)
REASON: Final = min(SILENT)


def label_sets(spec: MetricSpec) -> list[str]:
    """The labels of two series of a metric, or of one without labels."""
    values = [(REASON, "b") if name == "reason_code" else ("a", "b") for name in spec.labels]
    return [
        ",".join(f'{name}="{value}"' for name, value in zip(spec.labels, chosen, strict=True))
        for chosen in list(product(*values))[:2]
    ]


def samples(spec: MetricSpec, labels: str, step: int) -> Iterator[tuple[str, int]]:
    """Each series of a metric with its value at a step."""
    braces = f"{{{labels}}}" if labels else ""
    if spec.kind is not MetricKind.HISTOGRAM:
        yield f"{spec.name}{braces}", 3 * step + 1
        return
    for limit, share in (*((each, 1) for each in spec.buckets), ("+Inf", 2)):
        bucket = ",".join(filter(None, (labels, f'le="{limit}"')))
        yield f"{spec.name}_bucket{{{bucket}}}", share * step
    yield f"{spec.name}_count{braces}", 2 * step
    yield f"{spec.name}_sum{braces}", step


def recorded(first_s: int) -> str:
    """Metrics of all processes over an hour, as OpenMetrics."""
    lines = []
    for spec in METRICS:
        lines.append(f"# TYPE {spec.name.removesuffix('_total')} {spec.kind.value}")
        for labels, step in product(label_sets(spec), range(STEPS)):
            at = first_s + step * STEP_S
            lines += [f"{series} {value} {at}" for series, value in samples(spec, labels, step)]
    return "\n".join((*lines, "# EOF\n"))


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    """A Prometheus over the recorded metrics: its address, and the time of the last sample."""
    folder = tmp_path_factory.mktemp("prometheus")
    last_s = int(time.time()) - 600
    (folder / "metrics.txt").write_text(recorded(last_s - (STEPS - 1) * STEP_S))
    made = promtool("tsdb", "create-blocks-from", "openmetrics", folder / "metrics.txt", folder / "data")
    assert made.returncode == 0, made.stderr
    (folder / "empty.yml").write_text("")
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    options = (f"--config.file={folder}/empty.yml", f"--storage.tsdb.path={folder}/data")
    command = [program("prometheus"), *options, f"--web.listen-address={address}", "--log.level=error"]
    with subprocess.Popen(command) as process:
        try:
            eventually(lambda: ready(f"http://{address}/-/ready"), "Prometheus")
            yield f"http://{address}", last_s
        finally:
            process.kill()


def ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(url) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def lost(ours: Any, theirs: Any, path: str = "") -> list[str]:
    """The values of ``ours`` that are not in ``theirs``, which may have more."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return [each for key in ours for each in lost(ours[key], theirs.get(key), f"{path}/{key}")]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        pairs = enumerate(zip(ours, theirs, strict=True))
        return [each for place, pair in pairs for each in lost(*pair, f"{path}/{place}")]
    return [] if ours == theirs else [path]


def written_again(document: dict[str, Any]) -> Any:
    """The document as Grafana's models write what they read; keys that they do not know are dropped."""
    register_default_plugins()
    return json.loads(JSONEncoder(sort_keys=True).encode(GrafanaDashboard.from_json(document)))


@pytest.mark.parametrize("name", DASHBOARDS)
def test_grafana_s_models_know_every_key(name: str) -> None:
    """Read and written again, nothing is lost."""
    assert lost(PAGES[name], written_again(PAGES[name])) == []


def test_a_key_that_grafana_does_not_know_is_found() -> None:
    """On the page, in a panel and in a query."""
    document = copy.deepcopy(next(iter(PAGES.values())))
    document["titel"] = "x"
    document["panels"][0]["grid"] = "x"
    document["panels"][0]["targets"][0]["expression"] = "x"

    found = lost(document, written_again(document))

    assert sorted(found) == ["/panels/0/grid", "/panels/0/targets/0/expression", "/titel"]


def test_the_share_that_ends_in_silence_counts_every_such_reason() -> None:
    """A further reason must be added to the dashboard."""
    found = {match for query in QUERIES for match in re.findall(r'reason_code=~"([^"]+)"', query)}

    assert found == {"|".join(sorted(SILENT))}


def test_panels_do_not_overlap_and_have_their_own_ids() -> None:
    """Two columns, row by row."""
    for page in PAGES.values():
        panels = page["panels"]
        places = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels}
        assert len(places) == len({panel["id"] for panel in panels}) == len(panels)


def test_every_metric_is_on_a_dashboard() -> None:
    """A further metric needs a panel."""
    shown = " ".join(QUERIES)

    assert [each.name for each in METRICS if each.name not in shown] == []


def test_every_query_has_an_answer(prometheus: tuple[str, int]) -> None:
    """Each gives at least one number that is one."""
    address, at = prometheus
    empty = []
    for query in QUERIES:
        words = urllib.parse.urlencode({"query": query, "time": at})
        with urllib.request.urlopen(f"{address}/api/v1/query?{words}") as answer:
            found = json.load(answer)
        values = [float(series["value"][1]) for series in found["data"]["result"]]
        if not values or any(math.isnan(value) for value in values):
            empty.append(query)

    assert empty == []
