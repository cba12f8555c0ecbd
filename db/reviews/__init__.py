"""Reviews: rulings, remedies, queues and claims, retractions."""
