"""From a candidate to a match: its letters, gaps, edges and context."""
