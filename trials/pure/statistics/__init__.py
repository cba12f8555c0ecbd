"""Statistics that only trials need."""
