"""Slack commands in a terminal."""

import sys
import time
from collections.abc import Iterable
from pathlib import Path

from bot.app import Application, open_application
from bot.database.columns import new_id
from bot.slack.card import Reply
from bot.slack.receiving.incoming import Incoming
from bot.slack.text import as_text


def talk(path: Path, person: str, channel: str, words: tuple[str, ...]) -> None:
    """Answers the command in `words`, or each line of standard input, as Slack would."""
    with open_application(path) as application:
        for line in (" ".join(words),) if words else _typed():
            for reply in _answers(application, person, channel, line):
                print(as_text(reply))  # noqa: T201  # this is what a console is for


def _typed() -> Iterable[str]:
    if sys.stdin.isatty():
        print("Type a command, for example: train help. Ctrl-D exits.")  # noqa: T201  # as above
    return (line.strip() for line in sys.stdin if line.strip())


def _answers(application: Application, person: str, channel: str, line: str) -> Iterable[Reply]:
    reply = application.dispatcher.answer(
        Incoming(
            kind="command",
            person=person,
            channel=channel,
            thread_ts=None,
            words=line.removeprefix("/"),
            command=application.registry.umbrella,
            value="",
            delivery=f"console-{new_id()}",
            trigger_id=None,
            response_url=None,
            message_ts=None,
            received=time.monotonic(),
            doubted=False,
        )
    )
    while reply is not None:
        yield reply
        reply = reply.later() if reply.later else None
