"""Reviewing: the review form, queues and their items, bulk reviews."""
