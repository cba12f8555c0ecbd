"""Settings of accounts: the newest row, earlier versions, and compiled rules."""
