"""One entry, from its grant to its outcome in Postgres."""
