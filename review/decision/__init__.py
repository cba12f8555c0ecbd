"""The decision page: loading, explanation, highlights, near misses, review panel.

A decision on its way to the page::

    DecisionRow -> DecisionRead                 columns; and what this person may know of them (one statement)
        -> DecisionRecord                       and the exchange, the settings, the owner (``view``)
            -> ExplanationFacts -> DecisionView sentences, notices, highlighted texts, margins

``page`` loads the frame, ``panels`` what loads separately.
"""
