"""Measurements: each file prints JSON."""
