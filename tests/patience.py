"""How long tests wait for what the machine may be too busy to do in time."""

from playground.world import World

# Slack waits 3 s. How fast the bot acknowledges is measured by benchmarks/ack.py; in a story that
# is told beside other tests, the processor may belong to those for longer.
_ACKNOWLEDGED_SECONDS = 30.0


def patient(world: World) -> World:
    """The world, whose Slack waits longer; for stories in which no bot is killed."""
    world.slack.sockets.ack_seconds = _ACKNOWLEDGED_SECONDS
    return world
