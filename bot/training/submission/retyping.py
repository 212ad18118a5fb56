"""A run as the options of the command that would submit it again."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta

from bot.config import Team
from bot.durations import format_duration
from bot.training.kinds.pods.volumes import mounts_of
from bot.training.spec import EndSnapshot, RunSpec, spec_of
from bot.training.submission.building import JOB, default_amounts
from bot.training.tables import Run
from bot.training.templates.candidates import candidates_of

Typed = tuple[str, Sequence[str]]


def retyped(run: Run, team: Team) -> Mapping[str, Sequence[str]]:
    """What would be typed for each parameter of `/train submit`, without the team's defaults.

    PVCs that were created for the run are mounted again; a snapshot that it started from is not
    restored again.
    """
    spec = spec_of(run)
    named = {
        "name": run.name,
        "image": spec.image,
        "gpu_type": spec.gpu_type or "" if _is_shared(run, "gpu_type") else "",
        "code": spec.code or "",
        "priority": spec.priority or "",
        "preset": spec.preset or "",
        **_where(run, team),
    }
    amounts = {name: text for name, text in _amounts(spec, team) if _is_shared(run, name)}
    single = {**named, **amounts, **dict(_kind(spec)), **dict(_end(spec))}
    several = dict(_several(run.job_name, spec))
    flags = {name: ("",) for name in ("host_network", "privileged") if getattr(spec, name)}
    found = {name: (text,) for name, text in single.items() if text}
    return {**found, **{name: words for name, words in several.items() if words}, **flags}


def _where(run: Run, team: Team) -> Mapping[str, str]:
    """Its compute templates, else its cluster unless that is the team's first one."""
    candidates = candidates_of(run)
    if not candidates:
        return {"cluster": run.cluster if run.cluster != team.reach[0] else ""}
    first = candidates[0]
    after = format_duration(first.after).replace(" ", "") if first.is_after_typed else ""
    return {"templates": ",".join(each.template for each in candidates), "fallback_after": after}


def _is_shared(run: Run, field: str) -> bool:
    """Whether the spec has the same value in each place where the run may wait."""
    values = [each["spec"].get(field) for each in run.candidates]
    return all(each == values[0] for each in values)


def _amounts(spec: RunSpec, team: Team) -> Iterator[tuple[str, str]]:
    """GPUs, and what differs from the team's defaults for as many."""
    yield "gpus", f"{spec.gpus.normalize():f}" if spec.gpus else ""
    usual = default_amounts(spec.gpus, team)
    for name, before in zip(("cpu", "memory", "shm"), usual, strict=True):
        text = getattr(spec, name)
        yield name, text if text not in {before, "0", "0Gi"} else ""


def _kind(spec: RunSpec) -> Iterator[tuple[str, str]]:
    yield "kind", spec.kind if spec.kind != JOB else ""
    yield "form", spec.form
    fewest, most = spec.nodes_allowed
    yield "nodes", f"{fewest}:{most}" if fewest != most else str(most) if most > 1 else ""
    yield "processes", str(spec.processes or "")
    yield "launcher", spec.launcher
    yield "worker_command", shlex.join(spec.worker_command)
    yield "port", str(spec.port or "")
    yield "efa", str(spec.efa or "")


def _end(spec: RunSpec) -> Iterator[tuple[str, str]]:
    """The time limit, and the snapshot that is taken at the end."""
    yield "time", _time(spec.session_seconds or spec.time_limit_seconds)
    kept = spec.snapshot
    if kept is not None:
        yield "snapshot", kept.target
        yield "snapshot_on", kept.on
        yield "snapshot_keep", _keep(kept)


def _keep(kept: EndSnapshot) -> str:
    return "off" if kept.keep_seconds == 0 else _time(kept.keep_seconds)


def _time(seconds: int | None) -> str:
    return format_duration(timedelta(seconds=seconds)).replace(" ", "") if seconds else ""


def _several(root_name: str, spec: RunSpec) -> Iterator[Typed]:
    yield "env", [f"{each.name}={each.value}" for each in spec.env]
    yield "secret", [f"{each.name}={each.secret}/{each.key}" for each in spec.secrets]
    mounts = mounts_of(root_name, spec)
    yield "pvc", [f"{each.claim}:{each.path}{':ro' * each.read_only}" for each in mounts]
    yield "data", [f"{each.reference}:{each.path}" for each in spec.data]
    yield "artifact", spec.artifacts
    yield "command", spec.command
