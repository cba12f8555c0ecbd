"""What reviewers write for each other: notes, tags, comments, mentions, presence and digests."""
