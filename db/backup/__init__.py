"""Postgres in a backup: dump, restore, and what the restored tables say about entries."""
