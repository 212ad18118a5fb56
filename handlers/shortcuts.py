"""The shortcuts of the app: what people start from Slack's menus."""

from collections.abc import Mapping, Sequence

from bot.commands.context import Context
from bot.slack.grammar.shortcuts import Shortcut
from bot.training.submission.retyping import retyped
from handlers.train.parameters import AnyRun


def _as_before(ctx: Context, reference: str) -> Mapping[str, Sequence[str]]:
    """The options of a run, to be changed and submitted again."""
    name, team = ctx.team()
    run = ctx.training.runs.find(ctx.session, name, AnyRun().read(reference))
    return retyped(run, team)


SHORTCUTS = (
    Shortcut(
        "submit-training", "Submit training", "Start a training run", "train", "submit",
    ),
    Shortcut(
        "request-quota", "Request GPU quota", "Request more GPUs for a limited time",
        "quota", "request",
    ),
    Shortcut(
        "cache-dataset", "Cache a dataset", "Copy a version of a dataset to fast storage",
        "dataset", "cache",
    ),
    Shortcut(
        "take-snapshot", "Take a snapshot", "Take a snapshot of a PVC", "snapshot", "create",
    ),
    Shortcut(
        "save-files", "Save files as a dataset", "Copy the files of this message to a dataset",
        "dataset", "put", on_files="message",
    ),
    Shortcut(
        "show-log", "Show log", "The last lines of the log of this run", "train", "logs",
        on_card=True, is_direct=True,
    ),
    Shortcut("stop-run", "Stop run", "Stop this run", "train", "stop", on_card=True),
    Shortcut(
        "resubmit-run", "Resubmit with changes", "Start this run again with other options",
        "train", "submit", on_card=True, prefill=_as_before,
    ),
    Shortcut(
        "compare-run", "Compare runs", "Compare this run with others", "train", "compare",
        on_card=True,
    ),
)  # fmt: skip
"""In the order of Slack's menus."""
