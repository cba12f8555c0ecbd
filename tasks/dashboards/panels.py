"""What a dashboard and its panels are, and the queries that several panels use."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tasks.metrics.names import MetricSpec

WINDOW: Final = "5m"


class PanelUnit(StrEnum):
    """Units, as Grafana names them."""

    COUNT = "short"
    RATE = "ops"
    SECONDS = "s"
    SHARE = "percentunit"


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardPanel:
    """One graph.

    Attributes:
        queries: PromQL -> legend, in which ``{{label}}`` is the value of a label.
    """

    title: str
    queries: dict[str, str]
    unit: PanelUnit = PanelUnit.COUNT


@dataclass(frozen=True, slots=True, kw_only=True)
class Dashboard:
    """One page; ``name`` is also its file and the end of its uid."""

    name: str
    title: str
    panels: tuple[DashboardPanel, ...]


def gauge_panel(title: str, unit: PanelUnit, **shown: MetricSpec) -> DashboardPanel:
    """Gauges as they are, each with the name of its argument and its labels."""
    queries = {each.name: " ".join((legend, *_labels(each.labels))) for legend, each in shown.items()}
    return DashboardPanel(title=title, queries=queries, unit=unit)


def rate_panel(title: str, spec: MetricSpec, *by: str) -> DashboardPanel:
    """Events a second of a counter, by labels."""
    query = f"sum by ({', '.join(by)}) (rate({spec.name}[{WINDOW}]))"
    return DashboardPanel(title=title, queries={query: " ".join(_labels(by)) or title}, unit=PanelUnit.RATE)


def quantile_panel(title: str, spec: MetricSpec, *by: str) -> DashboardPanel:
    """Median and 95th percentile of a histogram, by labels."""
    buckets = f"sum by ({', '.join(('le', *by))}) (rate({spec.name}_bucket[{WINDOW}]))"
    shown = {f"histogram_quantile({share}, {buckets})": name for share, name in ((0.5, "p50"), (0.95, "p95"))}
    queries = {query: " ".join((name, *_labels(by))) for query, name in shown.items()}
    return DashboardPanel(title=title, queries=queries, unit=PanelUnit.SECONDS)


def share_panel(title: str, part: str, whole: MetricSpec) -> DashboardPanel:
    """A share of a counter, 0..1; ``part`` is a series."""
    query = f"sum(rate({part}[{WINDOW}])) / sum(rate({whole.name}[{WINDOW}]))"
    return DashboardPanel(title=title, queries={query: title}, unit=PanelUnit.SHARE)


def _labels(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{{{{{name}}}}}" for name in names)
