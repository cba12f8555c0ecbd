"""Instructions to the model inside documents and messages: a deterministic check of one text.

::

    found = find_injection(text)         None, or why the passage is left out
        readable_text(text)              without what cannot be seen; what that hid is a sign itself
        signs(readable)                  the patterns of data/patterns.tsv, each with kind and weight
        a sum over kinds of 1.0 or more  quoted examples in a text about such attacks weigh less

It knows phrases, not intentions: docs/screening.md has the measured recall and false alarms.
"""

from __future__ import annotations

from typing import Final

from worker.injections.recogniser import find_injection, injection_in

INJECTION_CHECK: Final = "injection"
"""First part of the check's name in records, such as ``injection:override``."""
