"""``hushgate review``: the review pages, the people who use them, and rulings."""
