"""Commands that show how good decisions are and how they become better."""
