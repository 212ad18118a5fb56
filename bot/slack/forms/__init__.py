"""Forms: what a verb needs, as fields that people fill in."""
