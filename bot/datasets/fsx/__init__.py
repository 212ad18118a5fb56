"""Amazon FSx for Lustre: a client of its API, and decisions based on its answers."""
