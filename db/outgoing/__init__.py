"""Events for programs of the account: stored with the change that they report, sent later."""
