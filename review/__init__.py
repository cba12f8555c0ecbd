"""The review pages: the web application for reviewing decisions."""
