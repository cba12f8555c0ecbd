"""The command-line interface: thin commands that call the other packages."""
