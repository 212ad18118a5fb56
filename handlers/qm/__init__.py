"""The verbs of /qm."""
