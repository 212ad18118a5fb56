"""What pods of all kinds are made of, and what starts the program in them."""
