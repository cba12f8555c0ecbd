"""``hushgate doctor``: checks of a deployment."""
