"""The list of decisions: filters, saved views, exports and other jobs."""
