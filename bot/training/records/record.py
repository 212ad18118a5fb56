"""The record of a run: configuration, nodes, times and results, as facts and as JSON."""

import json
import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from bot.durations import format_duration
from bot.masking import HIDDEN, hide_secrets, is_secret, mask_words
from bot.slack.card import AsFile, Card
from bot.slack.markup import Markup, code, join, plain, sentence
from bot.slack.shortening import cut
from bot.training.arguments import arguments_of, arguments_words
from bot.training.kinds import gpus_of, kind_of_run
from bot.training.kinds.pods.volumes import mounts_of
from bot.training.records.lineage import NOTHING, Lineage
from bot.training.records.spans import Times
from bot.training.series.card import newest_words
from bot.training.series.exporting import exported
from bot.training.series.service import missing_of
from bot.training.series.tables import RunSeries
from bot.training.spec import Data, RunSpec, spec_of
from bot.training.submission.artifacts import Kept, artifacts_of
from bot.training.submission.end_snapshots import claim_kept
from bot.training.tables import Run, RunPhase
from bot.training.templates.candidates import current, templates_of

_SHOWN_NODES = 4
_LONGEST_FACT = 300
_SPENT = {
    RunPhase.AFTER: "waited for runs",
    RunPhase.DATA: "waited for data",
    RunPhase.PENDING: "waited",
    RunPhase.PREEMPTED: "preempted",
    RunPhase.CREATING: "created",
    RunPhase.RUNNING: "ran",
}

Record = dict[str, Any]


def details(
    run: Run,
    times: Times,
    lineage: Lineage = NOTHING,
    series: Sequence[RunSeries] = (),
    not_exported: str = "",
) -> tuple[tuple[str, Markup], ...]:
    """The facts about a run that its card does not show; why MLflow lacks it, if it does."""
    spec = spec_of(run)
    names = [each.name for each in spec.env]
    arguments = arguments_words(spec.command)
    facts: list[tuple[str, Markup | None]] = [
        ("Command", _code(_words(spec.command)) if spec.command else None),
        ("Arguments", _code(arguments) if arguments else None),
        ("Launcher", code(spec.launcher) if spec.launcher else None),
        ("Workers", _code(_words(spec.worker_command)) if spec.worker_command else None),
        ("Digest", code(run.image_id.rpartition("@")[2]) if run.image_id else None),
        *(("Artifact", _artifact(each)) for each in artifacts_of(run.job_name, spec)),
        *(("Data digest", _digest(each)) for each in spec.data),
        ("Variables", _code(_variables(spec)) if names else None),
        ("Secrets", _code(" ".join(_secrets(spec))) if spec.secrets else None),
        ("Queue", join(code(run.queue), plain(f", {run.flavor}" if run.flavor else ""))),
        ("Ran on", plain(_some(run.ran_on, _SHOWN_NODES)) if run.ran_on else None),
        ("Times", plain(_spent(times)) if run.started_at and times.phases else None),
        ("GPU-hours", plain(hours(times.gpu_hours)) if run.started_at and gpus_of(spec) else None),
        (
            "GPUs busy",
            plain(f"{run.gpus_busy:.0%} of the time") if run.gpus_busy is not None else None,
        ),
        ("Metrics", plain(newest_words(series)) if series else None),
        ("MLflow", sentence(not_exported) if not_exported else None),
        ("Restored for", plain(", ".join(lineage.successors)) if lineage.successors else None),
        ("Preset", plain(spec.preset) if spec.preset else None),
        ("Priority", plain(spec.priority) if spec.priority else None),
    ]
    return tuple((label, value) for label, value in facts if value is not None)


def export_card(
    run: Run,
    times: Times,
    now: datetime,
    lineage: Lineage = NOTHING,
    series: Sequence[RunSeries] = (),
) -> Card:
    """The card with the whole record as JSON."""
    return Card(
        f"Record of {run.reference}",
        document=export_text(run, times, now, lineage, series),
        as_file=AsFile(f"{file_name(run.reference)}.json"),
    )


def file_name(reference: str) -> str:
    """The reference of a run as a file name."""
    return reference.replace("#", "-")


def export_text(
    run: Run,
    times: Times,
    now: datetime,
    lineage: Lineage = NOTHING,
    series: Sequence[RunSeries] = (),
) -> str:
    """The whole record as JSON; each series has a line of its own."""
    text = json.dumps(record_of(run, times, now, lineage), indent=1, ensure_ascii=False)
    rows = ",\n".join(f"  {_dumped(row.name)}: {_dumped(exported(row))}" for row in series)
    more = f'"series": {{\n{rows}\n }}' if rows else '"series": {}'
    text = f"{text.removesuffix('}').rstrip()},\n {more}\n}}"
    # Within Slack's code blocks there can be none.
    return text.replace("`", "\\u0060")


def record_of(run: Run, times: Times, now: datetime, lineage: Lineage = NOTHING) -> Record:
    """Everything known about a run, without secrets; unknown values are null."""
    spec = spec_of(run)
    return {
        "run": run.reference,
        "id": run.id,
        "team": run.team,
        "person": run.person,
        "kind": spec.kind,
        "form": spec.form or None,
        "preset": spec.preset,
        "state": run.phase,
        "reason": run.reason or None,
        "exported_at": _moment(now),
        **_made_of(spec, run),
        "snapshot": _snapshot(run, spec, lineage),
        "from": _origin(spec),
        "after": [{"run": e.run, "id": e.run_id, "any_end": e.is_any} for e in spec.after],
        "where": _where(run),
        "requests": _requests(spec),
        "times": _times(run, times),
        "gpu_hours": float(round(times.gpu_hours, 3)) if times.gpu_hours is not None else None,
        "gpus_busy": None if run.gpus_busy is None else round(run.gpus_busy, 3),
        "counts": {
            "admissions": run.admissions,
            "preemptions": run.preemptions,
            "failed_attempts": run.restarts,
        },
        "arguments": arguments_of(spec.command),
        "metrics": run.results,
        "links": run.links,
        "mlflow": run.mlflow_url or None,
        "progress": run.progress,
        "series_lost": {"gaps": missing_of(run).gaps, "names": list(missing_of(run).names)},
    }


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def hours(amount: Decimal | None) -> str:
    """GPU-hours with two decimals, or `unknown`."""
    return "unknown" if amount is None else f"{amount:.2f}"


def _made_of(spec: RunSpec, run: Run) -> Record:
    repository, _, commit = (spec.code or "").rpartition("@")
    mounts = mounts_of(run.job_name, spec)
    return {
        "image": {"asked": spec.image, "found": run.image_id or None},
        "code": {"repository": repository, "commit": commit} if spec.code else None,
        "command": mask_words(spec.command),
        "launcher": spec.launcher or None,
        "worker_command": mask_words(spec.worker_command),
        "env": {each.name: _shown(each.name, each.value) for each in spec.env},
        "secrets": {each.name: f"{each.secret}/{each.key}" for each in spec.secrets},
        "pvcs": [
            {"claim": each.claim, "path": each.path, "read_only": each.read_only} for each in mounts
        ],
        "data": [
            {"version": each.reference, "digest": each.digest, "path": each.path}
            for each in spec.data
        ],
        "artifacts": [each._asdict() for each in artifacts_of(run.job_name, spec)],
    }


def _snapshot(run: Run, spec: RunSpec, lineage: Lineage) -> Record | None:
    """The snapshot of its end, taken or planned."""
    if spec.snapshot is None:
        return None
    return {
        "pvc": claim_kept(run.job_name, spec),
        "on": spec.snapshot.on,
        "name": lineage.snapshot or None,
        "state": lineage.state or None,
        "restored_for": list(lineage.successors),
    }


def _origin(spec: RunSpec) -> Record | None:
    """The snapshot from which it started."""
    origin = spec.origin
    if origin is None:
        return None
    return {
        "snapshot": origin.snapshot,
        "run": origin.run or None,
        "pvc": origin.claim,
        "instead_of": origin.instead_of,
    }


def _where(run: Run) -> Record:
    return {
        "cluster": run.cluster,
        "namespace": run.namespace,
        "object": f"{kind_of_run(run).root.kind}/{run.job_name}",
        "uid": run.job_uid,
        "queue": run.queue,
        "flavor": run.flavor or None,
        "nodes": run.ran_on,
        **_templates(run),
    }


def _templates(run: Run) -> Record:
    """Its compute templates, the one where it is or was, and when it left those before."""
    here = current(run)
    if here is None:
        return {}
    left = [{"template": each["template"], "left_at": each["at"]} for each in run.moves]
    return {"template": here.template, "templates": list(templates_of(run)), "moves": left}


def _requests(spec: RunSpec) -> Record:
    return {
        "pods": spec.nodes,
        "gpus": float(gpus_of(spec)),
        "gpu_type": spec.gpu_type,
        "of_each_pod": spec.requests,
        "priority": spec.priority,
        "time_limit_seconds": spec.time_limit_seconds,
    }


def _times(run: Run, times: Times) -> Record:
    return {
        "asked_at": _moment(run.asked_at),
        "admitted_at": _moment(run.admitted_at),
        "started_at": _moment(run.started_at),
        "ended_at": _moment(run.ended_at),
        "seconds": {
            str(phase): int(lasted.total_seconds()) for phase, lasted in times.phases.items()
        },
    }


def _moment(moment: datetime | None) -> str | None:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if moment else None


def _some(nodes: list[str], most: int) -> str:
    more = f" and {len(nodes) - most} more" if len(nodes) > most else ""
    return ", ".join(nodes[:most]) + more


def _artifact(kept: Kept) -> Markup:
    return join(code(kept.path), plain(", on PVC "), code(kept.claim))


def _digest(data: Data) -> Markup:
    return join(code(data.digest), plain(f", of {data.reference}"))


def _words(command: Sequence[str]) -> str:
    return hide_secrets(shlex.join(command))


def _variables(spec: RunSpec) -> str:
    return " ".join(f"{each.name}={_shown(each.name, each.value)}" for each in spec.env)


def _secrets(spec: RunSpec) -> list[str]:
    return [f"{each.name}={each.secret}/{each.key}" for each in spec.secrets]


def _shown(name: str, value: str) -> str:
    return HIDDEN if is_secret(name, value) else hide_secrets(value)


def _code(text: str) -> Markup:
    return code(cut(text, _LONGEST_FACT))


def _spent(times: Times) -> str:
    waited = times.phases.get(RunPhase.ASKED, timedelta()) + times.phases.get(
        RunPhase.PENDING, timedelta()
    )
    phases: Mapping[RunPhase, timedelta] = {**times.phases, RunPhase.PENDING: waited}
    said = ((word, phases.get(phase)) for phase, word in _SPENT.items())
    return ", ".join(f"{word} {format_duration(lasted)}" for word, lasted in said if lasted)
