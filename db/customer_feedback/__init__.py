"""What customers say about replies, joined to the decisions."""
