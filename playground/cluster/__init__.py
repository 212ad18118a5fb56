"""A Kubernetes cluster on loopback: its API, its controllers, Kueue, and training that pretends."""
