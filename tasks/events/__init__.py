"""What is said about an event after its outcome is stored."""
