"""Reading the audit: lists, filters, search, one decision with its context."""
