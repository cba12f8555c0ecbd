"""Documents as text: read by format, cut to chunks, made searchable; pure, bytes in and values out."""
