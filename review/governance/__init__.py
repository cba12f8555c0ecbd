"""Pages of legal holds and erasures of one account."""
