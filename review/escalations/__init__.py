"""Messages that wait for a person, and the forms that answer them."""
