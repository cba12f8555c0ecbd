"""Suggestions from decisions and reviews."""
