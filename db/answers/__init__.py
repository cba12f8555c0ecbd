"""Held drafts, and what people answered themselves."""
