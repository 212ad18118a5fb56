"""The state of the world, for finding out why a scenario failed."""

from collections.abc import Iterator

from playground.slack.people import Channel
from playground.world import World

_REQUESTS, _SHOWN = 12, 12


def report(world: World) -> str:
    """What each channel shows, what the bot says about itself, and what it did last."""
    return "\n".join(_lines(world))


def _lines(world: World) -> Iterator[str]:
    # What is printed of a report may be cut: how all stood comes before the conversations.
    yield f"--- time {world.clock.now():%a %H:%M:%S}, offset {world.clock.offset}"
    yield f"--- seed {world.options.seed}"
    yield f"--- the cluster's next event: {world.cluster.next_event()}"
    for bot in world.bots:
        look = world.looks.get(bot.url)
        yield f"--- bot {bot.state}: {look.pulse if look else 'not asked'}"
    yield "--- last requests"
    for request in world.ledger.requests[-_REQUESTS:]:
        number = f"{request.number:>4}" if request.number is not None else "    "
        yield f"{number} {request.service} {request.name} {request.about}"
    for bot in world.bots:
        look = world.looks.get(bot.url)
        yield f"--- the end of {bot.log}"
        yield look.log_tail if look else bot.log_tail()
        if look and look.stacks:
            yield f"--- what the threads of {bot.log.stem} did\n{look.stacks}"
    for channel in world.slack.channels.values():
        yield from _channel(world, channel)


def _channel(world: World, channel: Channel) -> Iterator[str]:
    shown = [message for message in channel.messages if not message.deleted]
    if shown:
        yield f"--- {'direct messages with ' if channel.im_with else '#'}{channel.name}"
    for message in shown:
        mark = " > " if message.is_reply else ""
        seen = f" (only {world.slack.name_of(message.viewer)})" if message.viewer else ""
        lines = world.slack.text_of(message).split("\n")
        more = [f"({len(lines) - _SHOWN} more lines)"] if len(lines) > _SHOWN else []
        text = "\n      ".join([*lines[:_SHOWN], *more])
        yield f"{mark}{world.slack.name_of(message.user)}{seen}: {text}"
