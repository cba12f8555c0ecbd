"""The decision page: loading, explanation, highlights, near misses, review panel.

A decision on its way to the page::

    DecisionRow                                   the columns
        -> VisibleDecision                        with what this person may know (one statement)
        -> DecisionRecord                         with the exchange, the settings and the owner
        -> ExplanationFacts -> DecisionView       sentences, notices, highlighted texts, margins

``page`` loads the frame, ``panels`` what loads separately.
"""
