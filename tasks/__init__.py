"""Celery and Redis: when it runs, how often, and what if it fails."""
