"""What every page shares: the request, the form guards, the headers, the templates."""
