"""Caches that live in a cluster although the database that knew them was lost."""
