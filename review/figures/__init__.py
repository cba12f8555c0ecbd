"""Figures of decisions: time ranges, summaries, and counted figures that are shown again."""
