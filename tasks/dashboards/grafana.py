"""A dashboard as the JSON that Grafana imports."""

from __future__ import annotations

from typing import Any, Final

from tasks.dashboards.panels import Dashboard, DashboardPanel

SCHEMA_VERSION: Final = 39
"""Of Grafana 11; later releases import it."""
SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
"""The data source that the person chooses at the top of the page."""
SOURCE_CHOICE: Final = {
    "type": "datasource",
    "name": "datasource",
    "label": "Prometheus",
    "query": "prometheus",
}
COLUMNS: Final = 2
WIDTH: Final = 24 // COLUMNS
HEIGHT: Final = 8


def grafana_json(dashboard: Dashboard) -> dict[str, Any]:
    """The document."""
    return {
        "uid": f"hushgate-{dashboard.name}",
        "title": dashboard.title,
        "tags": ["hushgate"],
        "timezone": "browser",
        "editable": True,
        "graphTooltip": 1,
        "schemaVersion": SCHEMA_VERSION,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [SOURCE_CHOICE]},
        "panels": [_panel(number, each) for number, each in enumerate(dashboard.panels)],
    }


def _panel(number: int, panel: DashboardPanel) -> dict[str, Any]:
    row, column = divmod(number, COLUMNS)
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": panel.title,
        "datasource": SOURCE,
        "gridPos": {"h": HEIGHT, "w": WIDTH, "x": column * WIDTH, "y": row * HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit.value, "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + place), "datasource": SOURCE, "expr": query, "legendFormat": legend}
            for place, (query, legend) in enumerate(panel.queries.items())
        ],
    }
