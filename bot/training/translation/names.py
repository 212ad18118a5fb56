"""Names of other programs' jobs as names of runs."""

import re

from bot.slack.grammar.parameters import LONGEST_NAME, short_name

PROGRAM_MISSING = (
    "Without `{}`, the arguments are those of the image's own program. Here a command is whole: put"
    " the program before them."
)
"""The sentence about arguments without a program, with the option that would name it."""


def run_name(name: str) -> tuple[str, tuple[str, ...]]:
    """The name of the run, and a sentence if it differs from the job's."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "run"
    short = short_name(plain)
    if short == name:
        return name, ()
    why = (
        f"names have at most {LONGEST_NAME} characters"
        if len(plain) > LONGEST_NAME
        else "names have lower-case letters, digits and hyphens"
    )
    return short, (f"The run is called `{short}` instead of `{name}`: {why}.",)
