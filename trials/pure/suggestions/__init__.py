"""What decisions and reviews suggest to change, each suggestion with its evidence.

Pure: values in, values out. ``trials.store.suggestion_material`` reads the material,
``trials.jobs.suggesting`` computes and stores the suggestions of each account once a day.
"""
