"""Steps of workflows in Slack that request quota: who is asked, and how Slack learns the end."""
