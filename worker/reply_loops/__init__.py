"""Automatic repliers that answer the AI: noticed, and left unanswered before they answer each other for ever.

::

    sign_of(event, history)                           what the message says about its writer, or None
    loop_ending(event, sign, history, account, now)   None, or the ending: to people once, then silent
"""

from worker.reply_loops.ending import loop_ending
from worker.reply_loops.signs import sign_of

__all__ = ["loop_ending", "sign_of"]
