"""Trying changes of an account's settings before they are in force.

A trial has a candidate (changes of the settings, ``store.candidates``), a source of events, a comparison
(``pure.replay.difference``) and a budget. The sources:

- past decisions: a replay of some (``store.replaying``), a backtest of a range or of chosen ones
  (``jobs.backtest_job``)
- golden sets, decided by the live models: an evaluation (``jobs.evaluation``)
- every new decision, made again beside the live settings: a shadow (``jobs.shadow_run``)
- a share of the conversations, decided by the candidate in earnest: a rollout (``store.rollout_steps``);
  ``jobs.tasks`` returns those that leave their bounds

Replays, backtests and shadows decide from recordings (``worker.recordings``) by one ``Replayer``, in
batches (``jobs.batch``), and count into one table of groups (``pure.replay.groups``). Reviews give the rest:
error rates, calibration and suggestions.

Layers, downwards: ``feature``, ``commands``, ``pages``, ``jobs``, ``store``, then ``tables``, ``retention``
and ``pure``; ``sql`` has the functions of the database.
"""
