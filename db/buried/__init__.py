"""Dead letters as people work with them: found, published again, dropped."""
