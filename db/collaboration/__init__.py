"""What reviewers write for each other: notes, tags, comments, and mentions."""
