"""Comments, mentions and assignments on the review pages."""
