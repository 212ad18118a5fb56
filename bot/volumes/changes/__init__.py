"""Changes of what a volume can do: its throughput, and the pool it is in."""
