"""Comments, mentions, assignments and presence on the review pages."""
