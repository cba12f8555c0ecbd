"""The demo: the whole product on one machine, without a key."""
