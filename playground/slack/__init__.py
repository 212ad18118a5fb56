"""A strict Slack workspace on loopback: Web API, Socket Mode, signed HTTP, and people who act."""
