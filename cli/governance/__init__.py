"""Commands of retention, legal holds and erasure."""
