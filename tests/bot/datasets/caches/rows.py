"""Datasets, versions and caches as rows, as their controllers leave them."""

from typing import Any

from sqlmodel import Session, col, select

from bot.datasets.caches.tables import Cache, CachePhase
from bot.datasets.job import job_name
from bot.datasets.subfolders import spelled
from bot.datasets.tables import Dataset, Version, VersionPhase
from tests.bot.ground import ALICE, START, TEAM_A

DIGEST = "sha256:" + 64 * "a"
SIZE, CAPACITY = 250_000_000_000, 300 * 2**30


def add_dataset(session: Session, name: str = "chest-xray", **more: Any) -> Dataset:
    """A dataset of team-a."""
    fields = {"team": "team-a", "store": "lake", "source": f"s3://lake/{name}/", "person": ALICE}
    row = Dataset(workspace_id="T0QM", name=name, added_at=START, **(fields | more))
    session.add(row)
    session.flush()
    return row


def add_version(
    session: Session,
    dataset: Dataset,
    name: str = "v3",
    digest: str = DIGEST,
    selected_from: str = "",
) -> Version:
    """A version that is recorded."""
    row = Version(
        workspace_id="T0QM",
        dataset_id=dataset.id,
        dataset=dataset.name,
        name=name,
        team=dataset.team,
        person=ALICE,
        channel=TEAM_A,
        cluster="default",
        namespace="datasets",
        job_name="survey",
        store=dataset.store,
        source=dataset.source,
        manifest_store="state",
        manifest="s3://qm-state/prod/manifests/1/",
        asked_at=START,
        phase=VersionPhase.READY,
        since=START,
        ended_at=START,
        digest=digest,
        selected_from=selected_from,
        objects=627_615,
        size_bytes=SIZE,
        is_cleared=True,
    )
    session.add(row)
    session.flush()
    return row


def add_cache(session: Session, version: Version, **more: Any) -> Cache:
    """A cache of a version, ready unless `more` says otherwise."""
    fields: dict[str, Any] = {
        "team": "team-a",
        "cluster": "default",
        "namespace": "datasets",
        "storage_class": "standard",
        "phase": CachePhase.READY,
        "bytes_done": SIZE,
    }
    row = Cache(
        workspace_id="T0QM",
        version_id=version.id,
        dataset_id=version.dataset_id,
        reference=spelled(version.reference, [more.get("part", "")]),
        digest=version.digest or "",
        objects=version.objects or 0,
        size_bytes=version.size_bytes or 0,
        person=ALICE,
        channel=TEAM_A,
        capacity_bytes=CAPACITY,
        claim_name="",
        job_name="",
        asked_at=START,
        used_at=START,
        since=START,
        **(fields | more),
    )
    row.claim_name = row.job_name = job_name(version.reference, row.id)
    session.add(row)
    session.flush()
    return row


def add_cached(session: Session, name: str = "chest-xray", **more: Any) -> Cache:
    """A dataset that everyone may use, with version v3 and its cache."""
    dataset = add_dataset(session, name, is_open=True)
    return add_cache(session, add_version(session, dataset), **more)


def only_cache(session: Session) -> Cache:
    """The cache, where there is one."""
    return session.scalars(select(Cache).order_by(col(Cache.id))).one()
