"""Alerts: declared once, as rules of Prometheus and as a check of Redis and Postgres."""
