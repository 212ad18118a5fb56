"""Finds the launchers in a command, behind the wrappers that people put before them."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

MPIRUN, TORCHRUN, DEEPSPEED = "mpirun", "torchrun", "deepspeed"
# What people can say instead of having a launcher recognised.
NONE = "none"
LAUNCHERS = (NONE, MPIRUN, TORCHRUN)
_BY_NAME = {
    **dict.fromkeys(("mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun"), MPIRUN),
    "horovodrun": MPIRUN,
    **dict.fromkeys(("torchrun", "composer", "lightning"), TORCHRUN),
    "deepspeed": DEEPSPEED,
}
_BY_MODULE = {
    "torch.distributed.run": TORCHRUN,
    "torch.distributed.launch": TORCHRUN,
    "accelerate.commands.launch": TORCHRUN,
    "horovod.runner.launch": MPIRUN,
    "deepspeed.launcher.runner": DEEPSPEED,
}
_PYTHON = re.compile(r"python[0-9.]*")
_PYTHON_VALUES = frozenset({"-X", "-W"})
_SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh"})
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_FOUND = re.compile(r"[$`]\(?(?:which|command -v|type -p) +([\w./-]+)[)`]")
_KEYWORDS = frozenset({"if", "then", "else", "elif", "do", "while", "until", "!", "{"})
_SEPARATORS = ";&|()\n"


@dataclass(frozen=True)
class _Wrapper:
    """A program that runs the one behind it.

    `verb` stands between the two, `values` are its options with a word of their own, and `words`
    how many others it takes.
    """

    verb: str = ""
    values: frozenset[str] = frozenset()
    words: int = 0


_UV = frozenset(
    {
        "--with", "--with-editable", "--with-requirements", "--extra", "--group", "--no-group",
        "--only-group", "--python", "-p", "--directory", "--project", "--package", "--env-file",
        "--index", "--index-url", "-i", "--find-links", "-f", "--cache-dir", "--config-file",
        "--index-strategy", "--link-mode", "--color",
    }
)  # fmt: skip
_CONDA = frozenset({"-n", "--name", "-p", "--prefix", "--cwd"})
_WRAPPERS = {
    "env": _Wrapper(values=frozenset({"-u", "--unset", "-C", "--chdir"})),
    "exec": _Wrapper(values=frozenset({"-a"})),
    "command": _Wrapper(),
    "nohup": _Wrapper(),
    "time": _Wrapper(values=frozenset({"-o", "--output", "-f", "--format"})),
    "nice": _Wrapper(values=frozenset({"-n", "--adjustment"})),
    "numactl": _Wrapper(values=frozenset({"-C", "-N", "-m", "-i", "-p"})),
    "stdbuf": _Wrapper(values=frozenset({"-i", "-o", "-e"})),
    "timeout": _Wrapper(values=frozenset({"-s", "--signal", "-k", "--kill-after"}), words=1),
    "tini": _Wrapper(values=frozenset({"-p", "-e"})),
    "dumb-init": _Wrapper(values=frozenset({"-r", "--rewrite"})),
    "uv": _Wrapper("run", _UV),
    **dict.fromkeys(("conda", "mamba", "micromamba"), _Wrapper("run", _CONDA)),
    **dict.fromkeys(("poetry", "pdm", "pipenv", "hatch", "rye"), _Wrapper("run")),
    "pixi": _Wrapper("run", frozenset({"-e", "--environment", "--manifest-path"})),
}


def runnable(command: Sequence[str]) -> tuple[str, ...]:
    """A command as containers can run it: variables before it, and `exec`, are a shell's words."""
    words = list(command)
    while words[:1] == ["exec"]:
        del words[0]
    return ("env", *words) if words and _ASSIGNMENT.match(words[0]) else tuple(words)


def launchers_in(command: Sequence[str]) -> frozenset[str]:
    """The launchers that a command starts, each by the name of its family."""
    found = (_family(each) for each in _plain_commands(tuple(command)))
    return frozenset(each for each in found if each)


def program_at(command: Sequence[str]) -> int:
    """Where its program begins, behind `env`, `uv run` and their like."""
    at = 0
    while taken := _wrapped(command[at:]):
        at += taken
    return at


def is_python(program: str) -> bool:
    """Whether that is an interpreter of Python."""
    return _PYTHON.fullmatch(_name(program)) is not None


def script_of(command: Sequence[str]) -> str:
    """The text that a shell is given by `-c`; empty where there is none."""
    if not command or _name(command[0]) not in _SHELLS:
        return ""
    at, has_text = 1, False
    while at < len(command) and command[at][:1] in {"-", "+"}:
        letters = "" if command[at].startswith("--") else command[at][1:]
        has_text = has_text or "c" in letters
        at += 2 if "o" in letters else 1
    return command[at] if has_text and at < len(command) else ""


def _plain_commands(command: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The command behind what is put before it, or those of its shell."""
    program = command[program_at(command) :]
    text = script_of(program)
    if not text:
        yield program
        return
    for each in _commands_of(text):
        yield from _plain_commands(each)


def _commands_of(text: str) -> Iterator[tuple[str, ...]]:
    """The commands in a shell's text, roughly: nobody runs what is not understood."""
    words: list[str] = []
    for word in [*_words_of(text), "\n"]:
        if set(word) <= set(_SEPARATORS):
            is_comment = any(each.startswith("#") for each in words)
            if words and not is_comment:
                yield tuple(words)
            words = []
        elif words or word not in _KEYWORDS:
            words.append(word)


def _words_of(text: str) -> list[str]:
    text = _FOUND.sub(r"\1", text.replace("\\\n", " "))
    lexer = shlex.shlex(text, posix=True, punctuation_chars=_SEPARATORS)
    lexer.whitespace, lexer.commenters, lexer.whitespace_split = " \t\r", "", True
    try:
        return list(lexer)
    except ValueError:
        return re.findall(rf"[{_SEPARATORS}]|[^\s{_SEPARATORS}]+", text)


def _wrapped(words: Sequence[str]) -> int:
    """How many words stand before what a wrapper runs, 0 where the first is none."""
    if not words:
        return 0
    if _ASSIGNMENT.match(words[0]):
        return 1
    wrapper = _WRAPPERS.get(_name(words[0]))
    if wrapper is None:
        return 0
    at = _past_options(words, 1, wrapper)
    if wrapper.verb:
        if list(words[at : at + 1]) != [wrapper.verb]:
            return 0
        at = _past_options(words, at + 1, wrapper)
    return at + wrapper.words


def _past_options(words: Sequence[str], at: int, wrapper: _Wrapper) -> int:
    while at < len(words) and words[at].startswith("-") and words[at] not in {"-m", "--module"}:
        if words[at] == "--":
            return at + 1
        at += 2 if words[at] in wrapper.values else 1
    return at


def _family(words: Sequence[str]) -> str:
    """Which launcher a plain command is; empty where it is none."""
    if not words:
        return ""
    name, rest = _name(words[0]), words[1:]
    if name == "accelerate":
        return TORCHRUN if rest[:1] == ("launch",) else ""
    if not is_python(words[0]) and not words[0].startswith("-"):
        return _BY_NAME.get(name, "")
    at = 0 if words[0].startswith("-") else 1
    while at < len(words) and words[at].startswith("-"):
        if words[at] in {"-m", "--module"}:
            return _BY_MODULE.get(" ".join(words[at + 1 : at + 2]), "")
        if words[at] == "-c":
            return ""
        at += 2 if words[at] in _PYTHON_VALUES else 1
    return _BY_NAME.get(_name(" ".join(words[at : at + 1])), "")


def _name(word: str) -> str:
    return PurePosixPath(word).name
