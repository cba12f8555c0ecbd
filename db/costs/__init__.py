"""What accounts spend: the rolling ledger, budgets and reports."""
