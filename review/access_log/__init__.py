"""The access log: filters, page, wording."""
