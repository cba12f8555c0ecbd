"""Scripts that make files of this repository; nothing here runs in production."""
