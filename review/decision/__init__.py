"""The decision page: loading, explanation, highlights, near misses, review panel."""
