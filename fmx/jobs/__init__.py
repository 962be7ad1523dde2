"""What commands ask for, as data, and the one function that does it."""
