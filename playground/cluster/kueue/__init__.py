"""Queue admission as Kueue 0.19 does it, in its own objects and words."""
