"""Automatic repliers that answer the AI: noticed, and left unanswered before they answer each other for ever.

::

    sign = sign_of(event, history)              a person, a machine, or None: it cannot be said
    loop_ending(sign, history, account, now)    None, or the ending: to people once, then silent
"""

from worker.loops.ending import loop_ending
from worker.loops.signs import sign_of

__all__ = ["loop_ending", "sign_of"]
