"""The hyperparameters of a run: what the arguments of its command say."""

import re
import shlex
from collections.abc import Iterator, Sequence

from bot.masking import HIDDEN, hide_secrets, is_secret, names_a_secret
from bot.slack.markup import Markup, code, join, plain
from bot.training.spec import spec_of
from bot.training.tables import Run

MOST_ARGUMENTS = 60
_LONGEST_VALUE = 100
_MOST_LINES = 12
NOT_SET = "not set"

_OPTION = re.compile(r"--?([A-Za-z][\w.-]{0,60})(?:=(.*))?", re.DOTALL)
# As Hydra takes them: optimizer.lr=0.1, and +new=1; a variable before a program has capitals.
_PAIR = re.compile(r"\+{0,2}([a-z][\w./@-]{0,60})=(.*)", re.DOTALL)
_NEGATIVE = re.compile(r"-[0-9.].*")
_SCRIPT = re.compile(r"[^-\s=][^\s=]*\.(?:py|sh|pl|R|jl)")
_SHELLS = {"sh", "bash", "zsh", "dash"}
_ENDS = {"&&", "||", ";", "|", "&"}


def arguments_of(command: Sequence[str]) -> dict[str, str]:
    """The options of a program by name, as `lr: 0.1`; those of a launcher before it are left out.

    A flag has the value `yes`. Options whose name or value looks like a secret are left out.
    """
    found: dict[str, str] = {}
    for name, values in _options(_of_program(_words(command))):
        value = " ".join(values) if values else "yes"
        is_hidden = names_a_secret(name) or is_secret(name, value)
        if not is_hidden and HIDDEN not in hide_secrets(value) and len(found) < MOST_ARGUMENTS:
            found[name] = value[:_LONGEST_VALUE]
    return found


def arguments_words(command: Sequence[str]) -> str:
    """The arguments as `lr=0.1 epochs=90`."""
    return " ".join(f"{name}={value}" for name, value in arguments_of(command).items())


def differing_arguments(runs: Sequence[Run]) -> Iterator[Markup]:
    """A line for each argument that differs between runs, with its value in every one of them."""
    values = {run.reference: arguments_of(spec_of(run).command) for run in runs}
    told = [
        (name, {run: found.get(name, NOT_SET) for run, found in values.items()})
        for name in dict.fromkeys(name for each in values.values() for name in each)
    ]
    differing = [(name, each) for name, each in told if len(set(each.values())) > 1]
    for name, each in differing[:_MOST_LINES]:
        said = ", ".join(f"{value} in {run}" for run, value in each.items())
        yield join(code(name), plain(f": {said}"))
    more = len(differing) - _MOST_LINES
    if more > 0:
        yield plain(f"{more} more argument{'s differ' if more > 1 else ' differs'}.")


def _words(command: Sequence[str]) -> list[str]:
    """The words of a command; of a shell's script those of its last command."""
    words = list(command)
    program = words[0].rpartition("/")[2] if words else ""
    script = next((place for place, word in enumerate(words[1:], 1) if _gives_script(word)), None)
    if program not in _SHELLS or script is None or script + 1 >= len(words):
        return words
    try:
        inner = shlex.split(words[script + 1].replace("\\\n", " ").replace("\n", " ; "))
    except ValueError:
        return []
    inner = [part for word in inner for part in ((word[:-1], ";") if word[-1:] == ";" else (word,))]
    while inner and inner[-1] in _ENDS:
        inner.pop()
    last = max((place for place, word in enumerate(inner) if word in _ENDS), default=-1)
    return inner[last + 1 :]


def _gives_script(word: str) -> bool:
    return re.fullmatch(r"-[a-z]*c", word) is not None


def _of_program(words: Sequence[str]) -> Sequence[str]:
    """What follows the script or module that runs in the end."""
    scripts = [place for place, word in enumerate(words) if _SCRIPT.fullmatch(word)]
    if scripts:
        return words[scripts[0] + 1 :]
    modules = [place for place, word in enumerate(words[:-1]) if word == "-m"]
    return words[modules[-1] + 2 :] if modules else words[1:]


def _options(words: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """The options with their values, which may be several words or none."""
    name, values = "", list[str]()
    for word in words:
        option = None if _NEGATIVE.fullmatch(word) else _OPTION.fullmatch(word)
        pair = None if option else _PAIR.fullmatch(word)
        if option is None and pair is None:
            values.append(word)
            continue
        if name:
            yield name, values
        name, values = "", []
        if pair is not None:
            yield pair[1], [pair[2]]
        elif option is not None and option[2] is not None:
            yield option[1], [option[2]]
        elif option is not None:
            name = option[1]
    if name:
        yield name, values
