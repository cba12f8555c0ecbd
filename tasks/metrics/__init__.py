"""Metrics in the format of Prometheus: of each process, and of the whole fleet."""
