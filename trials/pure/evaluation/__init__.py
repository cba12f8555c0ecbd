"""Golden sets: labelled messages, decided with chosen settings and models, and how well that went.

An item is a message with its history, perhaps the passages for its answer, and a label: whether an AI may
answer it. Evaluating a set means::

    item -> item_ports(item, live) -> decide -> ItemResult -> EvaluationFigures -> Bound.problem

``items`` are the values, ``rows`` reads imported lines, ``deciding`` decides one item, ``figures`` counts.
"""
