"""Retention, legal holds and erasure."""
