"""The stored history of conversations, and who answers in them."""
