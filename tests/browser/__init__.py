"""The review pages in a real browser, as a person uses them."""
