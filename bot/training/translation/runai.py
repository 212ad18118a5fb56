"""Commands of Run:ai's command line."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from bot.errors import UsageError
from bot.slack.grammar.foreign import Translation
from bot.slack.grammar.reading import shown
from bot.training.translation.names import PROGRAM_MISSING, run_name
from bot.training.translation.options import FLAGS, KNOWN, LEFT_OUT, OTHERS, VALUES, VERBS, VOLUMES
from bot.training.translation.volumes import instead_of_folder, placeholder

PROGRAM = "Run:ai"
_SUBMITS = {"submit": "", "submit-mpi": "mpi"}
# Where a translation wraps a line within a quoted option: `"-- num_mounts=2"`.
_WRAPPED = re.compile(r"\A--\s+(?=\S)")
_EXAMPLE = "For example `runai submit lane -i ghcr.io/acme/lane:3.1 -g 1`."


@dataclass
class _Read:
    """What was read of a submission so far."""

    name: str = ""
    options: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    is_draft: bool = False


def from_runai(words: Sequence[str]) -> Translation | None:
    """The command of Run:ai as one of `/train`, None if it is not one.

    UsageError for those that have no counterpart, with what to use.
    """
    team, rest = _project(words)
    if rest[:1] != ["runai"] or len(rest) == 1:
        return None
    verb, *others = rest[1:]
    if verb in _SUBMITS:
        return _submission(_SUBMITS[verb], others, team)
    return _other(verb, others)


def _project(words: Sequence[str]) -> tuple[str, list[str]]:
    """The project that a command before it sets, and the words after that."""
    rest = list(words)
    sets = rest[:3] in (["runai", "project", "set"], ["runai", "config", "project"])
    return (rest[3], rest[4:]) if sets and rest[4:5] == ["runai"] else ("", rest)


def _other(verb: str, others: Sequence[str]) -> Translation | None:
    """The commands about jobs that exist."""
    if verb not in VERBS:
        return None
    ours, hint = VERBS[verb]
    names = [each for each in others if not each.startswith("-") and each not in {"job", "jobs"}]
    if not ours:
        raise UsageError(f"`runai {verb}` has no counterpart here.", hint)
    if verb == "list":
        return Translation(PROGRAM, (ours,))
    if not names:
        raise UsageError(f"`runai {verb}` needs the name of a run.", hint)
    name, notes = run_name(names[0])
    more = _tail(others) if verb == "logs" else ()
    return Translation(PROGRAM, (ours, name, *more), notes)


def _tail(words: Sequence[str]) -> tuple[str, ...]:
    """How much of a log is wanted: `-t 10`, `--tail 1`, `--tail=1`, or all as it comes."""
    found = re.search(r"(?<!\S)(?:-{1,2}t|--tail)[ =]([0-9]+)", " ".join(words))
    if found:
        return ("--tail", found[1])
    return ("--follow",) if {"-f", "--f", "--follow"} & set(words) else ()


def _submission(kind: str, words: Sequence[str], team: str) -> Translation:
    read = _Read()
    if kind:
        read.options += ["--kind", kind]
    _read(read, list(words))
    if read.unknown:
        raise UsageError(*_unknown(read.unknown))
    if not read.name:
        raise UsageError("The name of the job is missing.", f"{_EXAMPLE} `--name lane` names it.")
    if team and "--team" not in read.options:
        read.options += ["--team", team]
    name, renamed = run_name(read.name)
    started = [*read.command, *read.arguments]
    if read.arguments and not read.command:
        read.notes.append(PROGRAM_MISSING.format("--command"))
        read.is_draft = True
    rest = ("--", *started) if started else ()
    words = ("submit", name, *read.options, *rest)
    return Translation(PROGRAM, tuple(words), (*renamed, *read.notes), read.is_draft)


def _read(read: _Read, words: list[str]) -> None:
    """Reads options and the name; what follows `--` is the command."""
    while words:
        word = words.pop(0)
        if word == "--":
            read.command += words
            return
        if word.startswith("-"):
            _option(read, word, words)
        else:
            _placed(read, word)


def _option(read: _Read, word: str, following: list[str]) -> None:
    """Reads an option, and its value from what follows if it stands there."""
    said, has_value, value = word.partition("=")
    option = said.lstrip("-").lower()
    if option in FLAGS:
        ours, note = FLAGS[option] if value.lower() != "false" else ("", "")
        read.options += ours.split()
        read.notes += [f"`{said}` {note}"] if note else []
    elif option == "command" and not has_value and following[:1] == ["--"]:
        return
    elif option in KNOWN:
        if not has_value and not following:
            raise UsageError(f"`{said}` needs a value.", _EXAMPLE)
        _valued(read, said, option, value if has_value else following.pop(0))
    else:
        read.unknown.append(said)
        if not has_value and following and not following[0].startswith("-"):
            following.pop(0)


def _placed(read: _Read, word: str) -> None:
    if read.name:
        raise UsageError(
            f"`{shown(word)}` belongs to no option: the job is already called"
            f" `{shown(read.name)}`.",
            'Put quotes around a value of several words, for example `--args "--epochs 3"`.',
        )
    read.name = word


def _valued(read: _Read, said: str, option: str, value: str) -> None:
    """Reads an option that has a value."""
    if option in VOLUMES:
        _volume(read, f"{said} {value}", value)
    elif option in LEFT_OUT:
        read.notes.append(f"`{said} {shown(value)}` {LEFT_OUT[option]}")
    elif VALUES[option] == "name":
        read.name = value
    elif VALUES[option] == "command":
        read.command += _split(said, value)
    elif VALUES[option] == "arguments":
        read.arguments.append(_WRAPPED.sub("--", value))
    elif option == "port":
        read.options += ["--port", value.rpartition(":")[2]]
    else:
        read.options += [VALUES[option], *_spelled(read, option, value)]


def _split(said: str, value: str) -> list[str]:
    """The words of a command within quotes."""
    try:
        return shlex.split(value)
    except ValueError:
        raise UsageError(
            f"In `{said} {shown(value)}` a quote does not end.",
            "Close it, or put the command after `--`.",
        ) from None


def _spelled(read: _Read, option: str, value: str) -> Iterator[str]:
    """The value as our option takes it."""
    if option == "pvc" and value.startswith(":"):
        read.notes.append(
            "`--pvc` without a storage class takes the cluster's default one there. Here the class"
            " is named: replace `STORAGE-CLASS`."
        )
        read.is_draft = True
        yield f"STORAGE-CLASS{value}"
    else:
        yield value


def _volume(read: _Read, said: str, value: str) -> None:
    source, _, target = value.partition(":")
    target = target.partition(":")[0] or source
    read.notes.append(instead_of_folder(said, source, target))
    read.options += placeholder(source, target)
    read.is_draft = True


def _unknown(options: Sequence[str]) -> tuple[str, str]:
    """The message and hint about options without a counterpart."""
    named = " and ".join(f"`{shown(each)}`" for each in options)
    hints = [
        f"`{each}`: {OTHERS[name]}" for each in options if (name := each.lstrip("-")) in OTHERS
    ]
    has, them = ("has", "it") if len(options) == 1 else ("have", "them")
    hints.append(f"Leave {them} out, or write the run with our own options: `train submit --help`.")
    return f"{named} of Run:ai {has} no counterpart here.", " ".join(hints)
