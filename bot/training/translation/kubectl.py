"""Manifests that guides pass to kubectl: a Job, and the Deployment of its workers."""

import re
from collections.abc import Iterator, Mapping, Sequence
from textwrap import dedent
from typing import Any

import yaml

from bot.errors import UsageError
from bot.slack.grammar.foreign import Translation
from bot.slack.grammar.parameters import RunName
from bot.training.translation.job import from_job

PROGRAM = "kubectl"
_VERBS = frozenset({"create", "apply", "delete", "get", "logs", "describe", "patch", "exec"})
_HINTS = {
    "get": "`train list` lists runs, and `train show NAME` shows one.",
    "describe": "`train show NAME` shows a run, and `train why NAME` what it waits for.",
    "logs": "`train logs NAME` shows the log of a run.",
    "delete": "`train stop NAME` stops a run. Workers are deleted with their run.",
    "exec": "`train open NAME` shows how to open a shell in a session.",
}
_FLAGS = frozenset({"-f", "-i", "-t", "-it", "-ti", "-p"})
_SORTS = frozenset({"job", "jobs", "pod", "pods", "deployment", "deployments", "deploy"})
# What controllers put behind the names of Jobs and ReplicaSets for those of their pods.
_OF_POD = re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{5}$")
_OF_WORKERS = re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{8,10}$")
_NAME = RunName.rule
_SUBMIT = "Paste its manifest to submit it here, from `apiVersion:` on."
_ENDS = re.compile(r"\s*(?:[A-Z_]{2,}|\$ .*|kubectl .*|`{3}.*)")
_LONGEST, _DEEPEST = 20_000, 50


def from_kubectl(words: Sequence[str], text: str) -> Translation | None:
    """The manifests of a paste as a run, None if it is no command of kubectl and no manifest.

    UsageError for what is not a run, with what to use.
    """
    first = words[0].strip("`") if words else ""
    is_command = first == "kubectl" and words[1:2] and words[1] in _VERBS
    if not is_command and first not in {"cat", "apiVersion:", "---"}:
        return None
    if "apiVersion:" in text:
        return _run_of([each for part in _manifests(text) for each in _documents(part)])
    if not is_command:
        return None
    hint = _HINTS.get(words[1], _SUBMIT).replace("NAME", _named(words[2:]))
    raise UsageError("kubectl is not available here.", hint)


def _named(words: Sequence[str]) -> str:
    """The name of the run whose Job or pod a command is about; NAME if it is about others."""
    plain = [each for each in words if each not in _FLAGS and not each.startswith("--")]
    first, second, *_ = [*plain, "", ""]
    sort, name = (first, second) if first in _SORTS else ("pod", first)
    if "/" in name:
        sort, _, name = name.partition("/")
    if sort in {"pod", "pods"}:
        name = _OF_POD.sub("", name)
    is_run = sort in _SORTS and not sort.startswith("deploy") and not _OF_WORKERS.search(name)
    return name if is_run and _NAME.fullmatch(name) else "NAME"


def _manifests(text: str) -> Iterator[str]:
    """The YAML within a text: from `apiVersion:` to what ends a here-document."""
    lines: list[str] | None = None
    for line in text.splitlines():
        if lines is None:
            # The first line may follow the name of our command.
            _, found, rest = line.partition("apiVersion:")
            lines = [f"{found}{rest}"] if found else None
        elif _ENDS.fullmatch(line):
            yield _dedented(lines)
            lines = None
        else:
            lines.append(line)
    if lines:
        yield _dedented(lines)


def _dedented(lines: Sequence[str]) -> str:
    return "\n".join((lines[0], dedent("\n".join(lines[1:]))))


def _documents(text: str) -> list[Mapping[str, Any]]:
    try:
        if len(text) > _LONGEST or not _is_modest(text):
            raise UsageError(
                "The manifest is too long or too deep, or has aliases.", "Paste one Job at a time."
            )
        found = list(yaml.safe_load_all(text))
    except (yaml.YAMLError, ValueError, AttributeError) as error:  # such as a 13th month
        raise UsageError(
            "The manifest cannot be read as YAML.",
            "Paste it with its line breaks and indentation, best as a code block in a message that"
            " mentions the bot.",
        ) from error
    return [each for each in found if isinstance(each, dict)]


def _is_modest(text: str) -> bool:
    """Whether it has neither aliases, which can make it huge, nor levels by the hundred."""
    level = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        level += isinstance(event, yaml.CollectionStartEvent)
        level -= isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent) or level > _DEEPEST:
            return False
    return True


def _run_of(documents: Sequence[Mapping[str, Any]]) -> Translation:
    """The run of a Job, whose workers may be a Deployment."""
    kinds = [str(each.get("kind")) for each in documents]
    if strange := sorted(set(kinds) - {"Job", "Deployment"}):
        raise UsageError(
            f"A manifest of kind {', '.join(strange)} is no run.",
            "Jobs can be pasted, and Deployments of their workers.",
        )
    jobs = [each for each in documents if each.get("kind") == "Job"]
    workers = [each for each in documents if each.get("kind") == "Deployment"]
    if not jobs:
        raise UsageError(
            "This Deployment has the workers of a run, which end with it.",
            "Paste the Job of the launcher, after the Deployment or alone: `--kind sync` starts"
            " workers on the other nodes itself.",
        )
    if len(jobs) > 1 or len(workers) > 1:
        raise UsageError("There is more than one run in it.", "Paste one Job at a time.")
    return from_job(jobs[0], workers[0] if workers else None)
