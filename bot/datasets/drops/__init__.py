"""Files of a Slack message on their way into a push, which the bot itself copies."""
