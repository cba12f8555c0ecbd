"""``hushgate decisions``: the audit in a terminal."""
