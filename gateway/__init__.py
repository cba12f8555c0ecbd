"""HTTP in: events that programs publish by ``POST /api/v1/events``."""
