"""``hushgate assess``: the confidence in replies."""
