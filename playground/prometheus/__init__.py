"""A Prometheus on loopback: it scrapes the playground's clusters and answers what the bot asks."""
