"""Amazon FSx for Lustre: the edge to its API, and what is decided from what it says."""
