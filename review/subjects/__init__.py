"""The pages of an author and of a conversation."""
