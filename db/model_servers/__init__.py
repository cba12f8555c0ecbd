"""Model servers that administrators connect on the pages; the environment wins over them."""
