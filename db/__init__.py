"""Postgres: the only package that knows SQL."""
