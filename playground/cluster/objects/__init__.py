"""What an API server does with objects: keep, check, patch, delete, and tell who watches."""
