"""The terminal face: thin commands that call the other packages."""
