"""Dashboards: declared once, printed as JSON for Grafana."""
