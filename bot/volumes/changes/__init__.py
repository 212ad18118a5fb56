"""Changes of volumes: of their throughput, or of their pool and so their service level."""
