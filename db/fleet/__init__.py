"""Figures of the whole deployment, for metrics and alerts."""
