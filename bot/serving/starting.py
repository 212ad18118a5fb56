"""The start of the bot: its clusters are read while the rest of it is loaded."""

import sys
from functools import partial
from pathlib import Path

from bot.config import ConfigurationFile
from bot.config.environment import read_secrets
from bot.current import CurrentSecrets, CurrentSettings
from bot.quotas.engines.opening import follow
from bot.serving.logs import configure

_SWITCH_SECONDS = 0.00025


def serve(path: Path) -> None:
    """Runs the bot until it is asked to stop, then finishes the work in progress."""
    configure()
    file = ConfigurationFile(path)
    settings = file.load()
    secrets = CurrentSecrets(partial(read_secrets, settings.slack.transport))
    followed = follow(settings)
    for each in followed.values():
        each.begin()
    # More than half of a start is spent in here, and the lists of large clusters come meanwhile.
    from bot.serving.serving import run  # noqa: PLC0415 - see above

    # A thread that has waited for a row gets on at once, instead of behind others' 5 ms.
    sys.setswitchinterval(_SWITCH_SECONDS)
    run(CurrentSettings(file, settings), secrets, followed)
