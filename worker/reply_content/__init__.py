"""What must not leave in a reply, whatever the account's rules say.

::

    without_invisible(text)        single invisible characters removed, the text is otherwise unchanged
    content_findings(text, ..)  links, markup, pictures, mentions, hidden text, secrets, instructions
    hidden_findings(text)       only what a person who writes an answer does not see

A finding holds the reply for a person; no text is cut.
"""

from worker.reply_content.check import (
    ContentKind,
    Sources,
    content_findings,
    hidden_findings,
    without_invisible,
)
from worker.reply_content.links import domain_of
