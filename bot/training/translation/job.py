"""A Job's manifest as a run, with the Deployment of its workers if it has one."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bot.errors import UsageError
from bot.slack.grammar.foreign import Translation
from bot.training.spec import EFA, SHM_PATH
from bot.training.translation.names import PROGRAM_MISSING, run_name
from bot.training.translation.volumes import instead_of_folder, placeholder

_GPU = re.compile(r".+/gpu")
_ADDRESS = r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}"
# `--nodes=10.61.218.152,10.61.218.154`: what a launcher is told of the nodes that take part.
_ADDRESSES = re.compile(rf"{_ADDRESS}(?:,{_ADDRESS})+")
_HOSTS = "$QUARTERMASTER_HOSTS"


@dataclass
class _Translated:
    """The options of a run so far, and what to say about them."""

    options: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    is_draft: bool = False


def from_job(job: Mapping[str, Any], workers: Mapping[str, Any] | None) -> Translation:
    """The run that does what the Job does; UsageError if the manifest is incomplete."""
    try:
        return _translated(job, workers)
    except (
        ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError,
    ) as error:  # fmt: skip
        raise UsageError(
            "The manifest is not complete: a Job has `metadata.name`, and in"
            " `spec.template.spec.containers` an image.",
            "Paste all of it, from `apiVersion:` on.",
        ) from error


def _translated(job: Mapping[str, Any], workers: Mapping[str, Any] | None) -> Translation:
    name, renamed = run_name(_text(job["metadata"]["name"]))
    pod = job["spec"]["template"]["spec"]
    container = pod["containers"][0]
    found = _Translated(["--image", _text(container["image"])], list(renamed))
    if container.get("args") and not container.get("command"):
        found.notes.append(PROGRAM_MISSING.format("command"))
        found.is_draft = True
    if len(pod["containers"]) > 1 or pod.get("initContainers"):
        found.notes.append("Only its first container is taken over: a run has one.")
    command = _command(container)
    nodes = _nodes(command)
    if nodes or workers:
        _spread(found, nodes, workers)
    _amounts(found, container.get("resources") or {})
    _variables(found, container.get("env") or ())
    _volumes(found, pod.get("volumes") or (), container.get("volumeMounts") or ())
    _rights(found, pod, container)
    _limits(found, job["spec"])
    rest = ("--", *_with_hosts(command)) if command else ()
    words = ("submit", name, *found.options, *rest)
    return Translation("kubectl", words, tuple(found.notes), found.is_draft)


def _text(value: object) -> str:
    """A text that is there; ValueError for none."""
    if not isinstance(value, str) or not value:
        raise ValueError("a text is missing")
    return value


def _command(container: Mapping[str, Any]) -> list[str]:
    return [str(each) for part in ("command", "args") for each in container.get(part) or ()]


def _nodes(command: Sequence[str]) -> int:
    """The number of nodes that a launcher is told of; 0 if it is told of none."""
    told = (_ADDRESSES.search(word) for word in command)
    return next((each[0].count(",") + 1 for each in told if each), 0)


def _spread(found: _Translated, nodes: int, workers: Mapping[str, Any] | None) -> None:
    """The nodes of a synchronous run, and its own workers."""
    count = nodes
    if workers:
        count = int(workers["spec"].get("replicas", 1)) + 1
    found.options += ["--kind", "sync", "--nodes", str(count)]
    if workers:
        serve = _command(workers["spec"]["template"]["spec"]["containers"][0])
        found.options += ["--form", "deployment"]
        found.options += ["--worker-command", shlex.join(serve)] if serve else []
    if nodes:
        found.notes.append(
            f"The addresses of {nodes} nodes are replaced by `{_HOSTS}`: a run gets its nodes when"
            " it starts."
        )
    if workers and nodes and nodes != count:
        found.notes.append(
            f"The command names {nodes} nodes, the Deployment makes {count} with the launcher's."
        )


def _with_hosts(command: Sequence[str]) -> Sequence[str]:
    """The command with the nodes of the run, which only a shell fills in."""
    if not _nodes(command):
        return command
    parts = (_expanded(word) for word in command)
    return ("sh", "-c", " ".join(parts))


def _expanded(word: str) -> str:
    before, address, after = word, "", ""
    if match := _ADDRESSES.search(word):
        before, address, after = word[: match.start()], match[0], word[match.end() :]
    quoted = [shlex.quote(each) if each else "" for each in (before, after)]
    return _HOSTS.join(quoted) if address else shlex.quote(word)


def _amounts(found: _Translated, resources: Mapping[str, Any]) -> None:
    """GPUs, EFA, cores and memory of a pod."""
    asked = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    for name, amount in asked.items():
        if _GPU.fullmatch(name):
            found.options += ["--gpus", str(amount)]
        elif name in {"cpu", "memory"}:
            found.options += [f"--{name}", str(amount)]
        elif name == EFA:
            found.options += ["--efa", str(amount)]
        else:
            found.notes.append(f"`{name}: {amount}` is left out.")


def _variables(found: _Translated, rows: Sequence[Mapping[str, Any]]) -> None:
    for row in rows:
        source = (row.get("valueFrom") or {}).get("secretKeyRef")
        if source:
            secret = f"{row['name']}={source['name']}/{source['key']}"
            found.options += ["--secret", secret]
        elif "valueFrom" in row:
            found.notes.append(f"The variable {row['name']} is left out: it has no fixed value.")
        else:
            found.options += ["--env", f"{row['name']}={row.get('value', '')}"]


def _volumes(
    found: _Translated, volumes: Sequence[Mapping[str, Any]], mounts: Sequence[Mapping[str, Any]]
) -> None:
    sources = {each["name"]: each for each in volumes}
    for mount in mounts:
        source, path = sources[mount["name"]], str(mount["mountPath"])
        if "persistentVolumeClaim" in source:
            claim = source["persistentVolumeClaim"]
            is_read = claim.get("readOnly") or mount.get("readOnly")
            found.options += ["--pvc", f"{claim['claimName']}:{path}{':ro' if is_read else ''}"]
        elif "hostPath" in source:
            folder = str(source["hostPath"]["path"])
            found.notes.append(instead_of_folder(f"hostPath: {folder}", folder, path))
            found.options += placeholder(folder, path)
            found.is_draft = True
        elif path == SHM_PATH:
            found.notes.append(
                "The volume at /dev/shm is left out: a run has one for its GPUs, and `--shm 64Gi`"
                " sets its size."
            )
        else:
            found.notes.append(f"The volume at {path} is left out: it is no PVC.")


def _rights(found: _Translated, pod: Mapping[str, Any], container: Mapping[str, Any]) -> None:
    if pod.get("hostNetwork"):
        found.options.append("--host-network")
    if (container.get("securityContext") or {}).get("privileged"):
        found.options.append("--privileged")


def _limits(found: _Translated, spec: Mapping[str, Any]) -> None:
    seconds = spec.get("activeDeadlineSeconds")
    if seconds:
        found.options += ["--time", f"{-(-int(seconds) // 60)}m"]
    if "backoffLimit" in spec:
        found.notes.append(
            f"`backoffLimit: {spec['backoffLimit']}` is left out: a run that fails is tried three"
            " times."
        )
