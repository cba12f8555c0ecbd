"""Counting decisions: hourly figures, dashboard, agreement, policy metrics."""
