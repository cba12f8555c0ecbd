"""Trying changes of an account's settings before they are in force.

A trial (``pure.trial.Trial``, one table with its steps) has changed settings (``store.candidates``), a source
of events, a comparison and a budget. Its kind says which:

=========== ================================== ================================ ===========================
kind        source of events                   comparison                       budget
=========== ================================== ================================ ===========================
backtest    past decisions of a range          ``pure.replay.difference``       nothing is asked
evaluation  a golden set                       the labels, ``pure.evaluation``  ``jobs.model_calls.Budget``
shadow      every new decision                 ``pure.replay.difference``       ``usd_a_day``
rollout     a share of the conversations       ``pure.rollouts.bounds``         the share
=========== ================================== ================================ ===========================

``store.trials`` starts, changes and ends trials with who did it; ``store.progress`` moves backtests and
shadows on. Both decide in batches (``jobs.batch``) from recordings by one ``Replayer``, and count into one
table of groups (``pure.replay.groups``); ``jobs.backtest_job`` runs for a command, ``jobs.shadow_run`` in
beat. A rollout's candidate decides in the workers, which read it by a view of running rollouts only;
``jobs.tasks`` returns a rollout that leaves its bounds. A replay makes chosen decisions again and stores
nothing. Reviews give the rest: error rates, calibration and suggestions.

Layers, downwards: ``feature``, ``commands``, ``pages``, ``jobs``, ``store``, then ``tables``, ``retention``
and ``pure``; ``sql`` has the functions of the database.
"""
