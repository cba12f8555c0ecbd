"""The pages, one file a family."""
