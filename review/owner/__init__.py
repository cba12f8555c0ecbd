"""The pages of a shop owner: what was done in their name, what waits, and settings as sentences."""
