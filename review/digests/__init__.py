"""The summary that a person gets by mail or webhook: counts and links, no texts of customers."""
