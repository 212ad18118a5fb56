"""Teams of Slack whose objects live in a cluster although their database was lost."""
