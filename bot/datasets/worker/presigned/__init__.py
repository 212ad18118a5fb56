"""Pushes from a person's computer: files go by presigned requests, answers by two small objects."""
