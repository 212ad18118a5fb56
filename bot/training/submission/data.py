"""The data of runs: dataset versions whose caches are held while a run needs them."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace
from sqlmodel import Session

from bot.config import ClusterSettings, Settings, Team
from bot.datasets import subfolders
from bot.datasets.caches import using
from bot.datasets.caches.tables import Cache
from bot.datasets.caches.using import THERE, DataReadiness, NotCachedError, Taken, User
from bot.datasets.finding import Reference, reference_of
from bot.datasets.tables import Version
from bot.errors import ConflictError
from bot.quotas import Engine
from bot.slack.markup import FormatCommand
from bot.snapshots.restores.service import data_readiness
from bot.training.kinds.kind import Site
from bot.training.queueing import team_for
from bot.training.spec import Data, RunSpec, asked_spec
from bot.training.state import State
from bot.training.submission.new_run import AskedRun, MissingCache, UncachedRunError
from bot.training.submission.volume_topology import refuse_unreachable
from bot.training.tables import KIND, Run, RunPhase
from bot.training.templates.candidates import following
from bot.volumes.changes import holds
from bot.volumes.records import ClaimPlace, refuse_stale


@dataclass(frozen=True)
class Reader:
    """What resolving the data of a submitted run needs."""

    run_id: str
    reference: str
    team_name: str
    team: Team
    asked: AskedRun
    engine: Engine | None


class ReadFolder(NamedTuple):
    """A folder of a version that a run reads."""

    version: Version
    folder: str


def with_data(
    session: Session,
    spec: RunSpec,
    reader: Reader,
    settings: Settings,
    format_command: FormatCommand,
    now: datetime,
) -> RunSpec:
    """The spec with its data resolved to versions and their caches, which are held for the run.

    Raises:
        NotFoundError: the team has no such dataset, or the dataset has no such version.
        UncachedRunError: it is not cached, and can be.
        ConflictError: it is being evicted, cannot be mounted or reached, or differs from what an
            earlier run of this spec has read.
    """
    if not spec.data:
        return spec
    wanted = [_reference(each) for each in spec.data]
    try:
        found = using.take(session, wanted, _user(reader, settings), format_command, now)
    except NotCachedError as error:
        asked = _pinned(reader.asked, error.wanted)
        raise UncachedRunError(error, asked, _missing(error, reader.team)) from None
    for each, taken in zip(spec.data, found, strict=True):
        _refuse_other(each, taken.digest)
    data = tuple(_resolved(*pair) for pair in zip(spec.data, found, strict=True))
    if reader.engine is not None:
        caches = {each.reference: using.storage_of(session, each.cache) for each in data}
        site = Site(
            team_for(spec, reader.team),
            reader.engine.queues.view,
            settings.clusters.get(reader.team.cluster, ClusterSettings()),
            reader.team_name,
        )
        refuse_unreachable(spec, site, reader.engine, caches)
    return replace(spec, data=data)


def refuse_lost_volumes(session: Session, spec: RunSpec, team: Team) -> None:
    """ConflictError when no other node could mount one of the PVCs."""
    for mount in spec.mounts:
        place = ClaimPlace(team.cluster, team.namespace, mount.claim)
        refuse_stale(session, place, "mounted by a new run")


def use_volumes(session: Session, spec: RunSpec, reader: Reader) -> None:
    """Records which PVCs the run uses, so that their throughput is not lowered while it runs."""
    team, why = reader.team, f"run {reader.reference} of {reader.team_name}"
    for claim in _claims(spec):
        place = ClaimPlace(team.cluster, team.namespace, claim)
        holds.use(session, place, (KIND, reader.run_id), why)


def hold_again(session: Session, run: Run) -> None:
    """Takes the holds of a run whose row was lost, as when it was submitted."""
    why = f"run {run.reference} of {run.team}"
    for claim in _claims(asked_spec(run)):
        place = ClaimPlace(run.cluster, run.namespace, claim)
        holds.use(session, place, (KIND, run.id), why)


def standing_of(session: Session, run: Run) -> DataReadiness:
    """The readiness of the data and the snapshot of a run that has no objects yet."""
    needs = run.spec.get("data") or run.spec.get("origin")
    if not run.is_live or run.job_uid is not None or not needs:
        return THERE
    spec = asked_spec(run)
    found = [using.readiness(session, each.cache, each.claim) for each in spec.data]
    if spec.origin is not None:
        found.append(data_readiness(session, run.id))
    failed = next((each for each in found if each.failed), None)
    return failed or DataReadiness(waits=" ".join(each.waits for each in found if each.waits))


def folders_of(session: Session, run: Run) -> tuple[ReadFolder, ...]:
    """The folders that a run without objects reads of caches that hold more than these.

    A cache of a folder was filled with its files; of any other, nobody has looked yet.
    """
    if not run.is_live or run.job_uid is not None or not run.spec.get("data"):
        return ()
    found: list[ReadFolder] = []
    for each in asked_spec(run).data:
        folders = _reference(each).folders
        cache = session.get(Cache, each.cache) if folders else None
        if cache is not None:
            version = session.get_one(Version, cache.version_id)
            found += [ReadFolder(version, each) for each in folders if each not in cache.folders]
    return tuple(found)


def next_standing_of(session: Session, run: Run) -> DataReadiness:
    """The readiness of the data of a run in the place to which it moves on."""
    next_one = following(run) if run.candidates and run.is_live else None
    if next_one is None or not next_one.spec.data:
        return THERE
    found = [using.readiness(session, each.cache, each.claim) for each in next_one.spec.data]
    failed = next((each for each in found if each.failed), None)
    return failed or DataReadiness(waits=" ".join(each.waits for each in found if each.waits))


def lacking(data: DataReadiness) -> State | None:
    """The state of a run whose data is not ready, None when all of it is."""
    if data.failed:
        return State(RunPhase.FAILED, reason=data.failed, advice=data.advice)
    return State(RunPhase.DATA, reason=data.waits) if data.waits else None


def let_go(session: Session, run: Run, now: datetime) -> None:
    """Releases all holds of a run that has ended; its data counts as used until now."""
    holds.leave(session, (KIND, run.id), now)
    if run.spec.get("data"):
        using.left(session, (each.cache for each in asked_spec(run).data), now)


def _claims(spec: RunSpec) -> tuple[str, ...]:
    """The PVCs that a run mounts, each once."""
    claims = [each.claim for each in spec.mounts] + [each.claim for each in spec.data]
    return tuple(dict.fromkeys(each for each in claims if each))


def _reference(data: Data) -> Reference:
    """The dataset, its version if one is given, and the folder of that."""
    return reference_of(data.reference)


def _resolved(data: Data, taken: Taken) -> Data:
    reference, digest, cache, claim, folder = taken
    return replace(
        data, reference=reference, digest=digest, cache=cache, claim=claim, folder=folder
    )


def _pinned(asked: AskedRun, versions: Sequence[Version]) -> AskedRun:
    """The run with its data pinned to the current versions and their digests."""
    data = []
    for each, version in zip(asked.spec.data, versions, strict=True):
        digest = version.digest or ""
        _refuse_other(each, digest)
        reference = subfolders.spelled(version.reference, _reference(each).folders)
        data.append(replace(each, reference=reference, digest=digest))
    return dataclasses.replace(asked, spec=replace(asked.spec, data=tuple(data)))


def _missing(error: NotCachedError, team: Team) -> tuple[MissingCache, ...]:
    return tuple(MissingCache(each, team.cluster, team.namespace) for each in error.versions)


def _user(reader: Reader, settings: Settings) -> User:
    team = reader.team
    return User(
        subject=(KIND, reader.run_id),
        why=f"run {reader.reference} of {reader.team_name}",
        team=reader.team_name,
        cluster=team.cluster,
        namespace=team.namespace,
        caching=_caching(settings, team),
        reach=tuple(team.reach),
        settings=settings,
        view=reader.engine.queues.view if reader.engine is not None else None,
        drivers=settings.datasets.static_drivers if settings.datasets else (),
    )


def _caching(settings: Settings, team: Team) -> tuple[str, ...]:
    """The clusters with caches; without any, the commands that the answers name say so."""
    datasets = settings.datasets
    return (datasets.caching or datasets.everywhere) if datasets is not None else (team.cluster,)


def _refuse_other(data: Data, digest: str) -> None:
    """ConflictError when a resubmitted run would read other bytes than before."""
    if data.digest and data.digest != digest:
        raise ConflictError(
            f"{data.reference} has changed since the run read it: a dataset of the same name has"
            " replaced it.",
            "Submit the run again with the version that it should read.",
        )
