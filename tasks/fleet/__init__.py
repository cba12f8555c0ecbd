"""The state of the whole deployment, read from Redis and Postgres."""
