"""The snapshot of the end of a run: requested and checked on submission, taken once."""

from datetime import datetime, timedelta
from typing import Literal

from sqlmodel import Session

from bot.config import Team
from bot.errors import UsageError
from bot.people.access import Caller
from bot.slack.grammar.container_parameters import NewVolume
from bot.snapshots.run_snapshots import RunEnd, RunSnapshots
from bot.training.kinds.pods.volumes import mounts_of
from bot.training.spec import EndSnapshot, RunSpec, asked_spec
from bot.training.submission.building import Submission
from bot.training.tables import GOOD_ENDS, Run, RunPhase

ALWAYS, SUCCESS = "always", "success"


def wished(asked: Submission) -> EndSnapshot | None:
    """The snapshot to take when the run ends; UsageError when its PVC is not mounted."""
    target = asked.snapshot
    if target is None:
        if asked.snapshot_on is not None or asked.snapshot_keep is not None:
            option = "--snapshot-on" if asked.snapshot_on is not None else "--snapshot-keep"
            raise UsageError(
                f"`{option}` applies to a snapshot, and none is requested.",
                "Name the PVC: `--snapshot results`.",
            )
        return None
    _refuse_class(asked, target)
    paths = [each.path.rstrip("/") for each in asked.pvc]
    if target.startswith("/") and target.rstrip("/") not in paths:
        there = f"PVCs are mounted at: {', '.join(paths)}." if paths else "The run mounts none."
        raise UsageError(
            f"No PVC is mounted at {target}.", f"{there} Or name a PVC: `--snapshot results`."
        )
    keep = asked.snapshot_keep
    seconds = None if keep is None else int(keep.total_seconds()) if keep != "off" else 0
    return EndSnapshot(target=target, on=asked.snapshot_on or SUCCESS, keep_seconds=seconds)


def _refuse_class(asked: Submission, target: str) -> None:
    """UsageError when a volume that is created for the run is named by its storage class."""
    made = (e for e in asked.pvc if isinstance(e, NewVolume) and e.storage_class == target)
    path = next((each.path for each in made), None)
    if path is not None:
        raise UsageError(
            f"{target} is a storage class, of which a volume is created for the run.",
            f"Name the volume by its path: `--snapshot {path}`.",
        )


def refuse_unfit(spec: RunSpec, caller: Caller, team: Team, snapshots: RunSnapshots) -> None:
    """UserError when the requested snapshot is impossible, or this person may not take it."""
    if spec.snapshot is None:
        return
    target = spec.snapshot.target.rstrip("/")
    made = next((each for each in spec.volumes if each.path.rstrip("/") == target), None)
    if made is not None:
        snapshots.refuse_class(caller, team, made.storage_class)
        return
    claim = _claim("", spec, target)
    if spec.origin is not None and claim == spec.origin.claim:
        snapshots.refuse_class(caller, team, spec.origin.storage_class)
        return
    is_mounted = any(each.claim == claim for each in spec.mounts)
    snapshots.refuse(caller, team, claim, is_mounted=is_mounted)


def claim_kept(root_name: str, spec: RunSpec) -> str:
    """The PVC whose snapshot is taken when the run ends; empty if there is none."""
    return _claim(root_name, spec, spec.snapshot.target.rstrip("/")) if spec.snapshot else ""


def is_wanted(run: Run) -> bool:
    """Whether a snapshot is taken of a run that has ended.

    A run that never started wrote nothing. An expired session counts as a success.
    """
    request = asked_spec(run).snapshot
    if request is None or not began(run):
        return False
    return request.on == ALWAYS or run.phase in GOOD_ENDS


def began(run: Run) -> bool:
    """Whether a run that has ended may have written anything."""
    return run.started_at is not None or run.phase == RunPhase.VANISHED


def take(session: Session, run: Run, snapshots: RunSnapshots, now: datetime) -> None:
    """Requests the snapshot of a run that has just ended, if it asked for one."""
    if is_wanted(run):
        snapshots.take(session, end_of(run), now)


def end_of(run: Run) -> RunEnd:
    """What the snapshot service needs to know about the end of a run."""
    spec = asked_spec(run)
    return RunEnd(
        workspace_id=run.workspace_id,
        run_id=run.id,
        run=run.reference,
        team=run.team,
        person=run.person,
        channel=run.channel,
        cluster=run.cluster,
        namespace=run.namespace,
        claim=claim_kept(run.job_name, spec),
        data=tuple((each.reference, each.digest) for each in spec.data),
        keep=_keep(spec),
    )


def _claim(root_name: str, spec: RunSpec, target: str) -> str:
    mounts = {each.path.rstrip("/"): each.claim for each in mounts_of(root_name, spec)}
    return mounts.get(target, target)


def _keep(spec: RunSpec) -> timedelta | Literal["off"] | None:
    seconds = spec.snapshot.keep_seconds if spec.snapshot else None
    if seconds is None:
        return None
    return timedelta(seconds=seconds) if seconds else "off"
