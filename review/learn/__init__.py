"""Pages that show how good the decisions of an account are and how they become better."""
