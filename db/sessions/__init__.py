"""What a connection to Postgres may keep for itself: everything, or nothing behind a pooler."""
