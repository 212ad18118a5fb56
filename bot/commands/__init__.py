"""Commands: what a handler is given, and how a request reaches it."""
