"""Documents of an account: storage, ingestion, embedding models, retrieval."""
