"""The replies of the sandbox, made without a model: chat, judge, moderation and embeddings."""
