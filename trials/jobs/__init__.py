"""Work of trials outside a request: background jobs, a Celery task, batches in processes of their own."""
