"""What the pages look like, compared with what they looked like before."""
