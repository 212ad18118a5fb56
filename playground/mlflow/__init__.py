"""An MLflow tracking server on loopback: the part of its REST API that the bot uses."""
