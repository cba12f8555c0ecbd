"""Examples to copy: they use Hushgate's streams and HTTP interface, and import nothing of it."""
