"""How long rows are kept: the list of tables, the stored limits, and the steps of a sweep."""
