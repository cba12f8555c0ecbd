"""What the browser tests share: a Chromium, a served site and a desk to work at."""
