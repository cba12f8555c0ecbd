"""Charts as SVG, drawn on the server: no script, colours from the style sheet."""
