"""Beat, background and Celery jobs of trials, and what they run in processes of their own."""
