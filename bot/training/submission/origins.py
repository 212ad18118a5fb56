"""Runs that start from a snapshot, such as that of the end of another run."""

from datetime import datetime

from msgspec.structs import replace
from sqlmodel import Session

from bot.errors import NotFoundError, UsageError
from bot.people.access import Caller
from bot.slack.grammar.container_parameters import VolumeMount
from bot.slack.markup import FormatCommand
from bot.snapshots import finding
from bot.snapshots.cancelling import service
from bot.snapshots.objects import name_for_run
from bot.snapshots.tables import Restore, RestorePhase, Snapshot
from bot.training import notices
from bot.training.kinds.pods.volumes import mounts_of
from bot.training.spec import Origin, RunSpec, asked_spec
from bot.training.submission.end_snapshots import began
from bot.training.tables import Run


def meant(
    session: Session, caller: Caller, run: Run, wanted: str, format_command: FormatCommand
) -> Snapshot:
    """The given snapshot, else that of the run's end, else the one it started from.

    NotFoundError where there is none.
    """
    if wanted:
        return finding.named(session, caller.team or "", wanted, format_command)
    own = finding.of_run(session, run.id)
    origin = asked_spec(run).origin
    if own is None and origin is not None:
        own = session.get(Snapshot, origin.snapshot_id)
    if own is None:
        said = f"There is no snapshot of the end of {run.reference}."
        raise NotFoundError(said, _what_there_is(session, run, format_command))
    return own


def _what_there_is(session: Session, run: Run, format_command: FormatCommand) -> str:
    """The hint for a run without a snapshot: what it could start from."""
    claims = [each.claim for each in mounts_of(run.job_name, asked_spec(run))]
    if not claims:
        return "It mounts no PVC: submit it again with `--pvc NAME:/path --snapshot NAME`."
    newest = next(
        (
            each
            for each in finding.of_team(session, run.team)
            if (each.cluster, each.namespace) == (run.cluster, run.namespace)
            and each.claim_name in claims
            and each.is_usable
        ),
        None,
    )
    if newest is None:
        example = format_command(f"snapshot create {claims[0]}")
        return f"Its PVCs have none: `{example}` takes one."
    example = format_command(f"train resubmit {run.reference} --from-snapshot {newest.name}")
    return f"The newest of {newest.claim_name}, which it mounts, is {newest.name}: `{example}`"


def started_on(spec: RunSpec, run: Run, row: Snapshot) -> RunSpec:
    """The spec of a run that restarts from a snapshot of a PVC that it mounts.

    UsageError when it does not mount the PVC of the snapshot.
    """
    asked, claims = asked_spec(run), {row.claim_name}
    if asked.origin is not None and row.id == asked.origin.snapshot_id:
        claims = {asked.origin.claim}
    elif asked.origin is not None and row.claim_name == asked.origin.instead_of:
        claims |= {asked.origin.claim}
    mounts = mounts_of(run.job_name, asked)
    paths = tuple(each.path for each in mounts if each.claim in claims)
    if not paths:
        there = ", ".join(dict.fromkeys(each.claim for each in mounts)) or "no PVC"
        raise UsageError(
            f"{run.reference} mounts {there}, but {row.name} is of {row.claim_name}.",
            "Restore it under another name, and submit the run with `--pvc NAME:/path`.",
        )
    origin = Origin(
        snapshot_id=row.id,
        snapshot=row.name,
        run=row.run,
        instead_of=row.claim_name,
        storage_class=row.storage_class,
        paths=paths,
    )
    return replace(spec, origin=origin)


def with_claim(spec: RunSpec, run_id: str) -> RunSpec:
    """The spec with the PVC that is created from the snapshot for the run of that id.

    The name of the PVC is derived from both, so that a repeated step finds it.
    """
    origin = spec.origin
    if origin is None:
        return spec
    claim, paths = name_for_run(origin.instead_of, run_id), set(origin.paths)
    old = {each.claim for each in spec.mounts if each.path in paths} | {origin.instead_of}
    keeps = spec.snapshot
    if keeps is not None and keeps.target in old:
        keeps = replace(keeps, target=claim)
    made = (VolumeMount(claim, e.path, read_only=False) for e in spec.volumes if e.path in paths)
    return replace(
        spec,
        mounts=(
            *(e._replace(claim=claim) if e.path in paths else e for e in spec.mounts),
            *made,
        ),
        volumes=tuple(each for each in spec.volumes if each.path not in paths),
        snapshot=keeps,
        origin=replace(origin, claim=claim),
    )


def leave(session: Session, run: Run, now: datetime) -> None:
    """Handles the PVC of a run that ended before it started, and posts what happens to it.

    An existing PVC is kept; one that is still being created is cancelled.
    """
    made = _unused(session, run)
    if made is None or made.phase in {RestorePhase.FAILED, RestorePhase.CANCELLED}:
        return
    if made.is_live:
        service.cancel_for_run(session, made, run.stop_by or run.person, now)
    notices.leaves(session, run, made.claim_name, now, is_there=not made.is_live)


def is_owed(session: Session, run: Run) -> bool:
    """Whether a run has ended without the PVC that was to be created for it."""
    made = _unused(session, run)
    return made is not None and made.phase != RestorePhase.READY


def _unused(session: Session, run: Run) -> Restore | None:
    """The restore that was requested for a run which never started."""
    if run.spec.get("origin") is None or began(run):
        return None
    return finding.for_run(session, run.id)
