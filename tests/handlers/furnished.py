"""A bot with something for every verb and every button to act on, put back after each."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection
from sqlmodel import Session, SQLModel, col, select

from bot.approvals.tables import Approval
from bot.cluster.resources import PVCS, SNAPSHOTS, STORAGE_CLASSES, VOLUMES, Resource
from bot.database.columns import new_id
from bot.datasets.caches.tables import Cache, Orphan
from bot.datasets.tables import Dataset, Push, PushPhase
from bot.gpus.waits.tables import GpuWait
from bot.quotas.steps.tables import QuotaStep
from bot.quotas.tables import ManagedQuota, Override
from bot.snapshots.deletions.tables import Deletion, DeletionPhase
from bot.snapshots.resizes.tables import Resize, ResizePhase
from bot.snapshots.tables import Restore, Revert, Snapshot, SnapshotPhase, SnapshotSchedule
from bot.teams.tables import ChangePhase, SlackTeam, TeamChange
from bot.training.tables import LogFollow, Run, RunOffer, RunPhase, RunWatch
from bot.volumes.changes.tables import VolumeChange
from bot.volumes.growths.tables import Growth
from bot.volumes.repairs.tables import Repair
from playground.arm.trident import CLASS, DRIVER
from playground.cluster.objects.kinds import VOLUME_SNAPSHOT
from playground.cluster.story import snapshot_class
from tests.arm import Arm, served
from tests.bot.cluster.api.api_server import eventually
from tests.bot.datasets.caches.rows import add_cache, add_cached, add_dataset, add_version
from tests.handlers import anf_client
from tests.handlers.command_client import ALICE, DATASETS, ERIN, TEAM_A, CommandClient, opened
from tests.handlers.furnished_pvcs import disk, of_copies, of_pvcs
from tests.handlers.furnished_requests import waiting_requests
from tests.handlers.gpu_past import held
from tests.playground.cluster.served import Served

SETTINGS = (
    """\
  snapshot_restore: {approvers: {people: [U0CAROL]}}
"""
    + DATASETS
    + """\
  classes: {standard: {budget: 8Ti}, premium: {}}
  default_class: standard
  static_drivers: [csi.playground]
  show_content: true
"""
)
RUN = "--image ghcr.io/acme/lane:3.1 --gpus 1"


@dataclass
class Furnished:
    """The bot, and what each button of it would say: its action and its value."""

    client: CommandClient
    values: dict[str, str]
    rows: list[tuple[Any, dict[str, Any]]]
    _stands: tuple[object, ...] = ()

    def put_back(self, owner: str = ALICE) -> None:
        """Every row as it was at first; what was Alice's is `owner`'s."""

        def work(session: Session) -> None:
            connection = session.connection()
            if self._stands == (owner, *_changes(connection)):
                return
            for table in reversed(SQLModel.metadata.sorted_tables):
                connection.exec_driver_sql(f'DELETE FROM "{table.name}"')  # noqa: S608  # ours
            for table, row in self.rows:
                connection.execute(table.insert(), {**row, **_owned(row, owner)})
            self._stands = (owner, *_changes(connection))

        self.client.application.database.transaction(work)

    def effects(self) -> dict[str, list[dict[str, Any]]]:
        """Every row by table; without what keeps deliveries apart, and when to look again."""
        found: dict[str, list[dict[str, Any]]] = {}
        for table, row in self._all():
            if table.name not in {"deliveries", "due"}:
                found.setdefault(table.name, []).append(row)
        return found

    def _all(self) -> list[tuple[Any, dict[str, Any]]]:
        def work(session: Session) -> list[tuple[Any, dict[str, Any]]]:
            return [
                (table, dict(row))
                for table in SQLModel.metadata.sorted_tables
                for row in session.connection().execute(table.select()).mappings()
            ]

        return self.client.application.database.read(work)


def _changes(connection: Connection) -> tuple[object, ...]:
    """What is other after any change of the SQLite file, by this connection or another one."""
    asked = ("SELECT total_changes()", "PRAGMA data_version")
    counts = [connection.exec_driver_sql(each).scalar_one() for each in asked]
    return (connection.connection.driver_connection, *counts)


def _owned(row: dict[str, Any], owner: str) -> dict[str, str]:
    if "user_id" in row:  # somebody themselves
        return {}
    return {key: owner for key in ("person", "requester") if row.get(key) == ALICE}


@contextmanager
def furnished(folder: Path, world: Served, more: str = "") -> Iterator[Furnished]:
    """Everything, as Alice of team-a has it, with further settings."""
    cluster = world.cluster
    cluster.install("snapshots", "trident")
    cluster.create("volumesnapshotclasses", snapshot_class())
    cluster.create("volumesnapshotclasses", snapshot_class("anf", DRIVER, seconds=0))
    cluster.create("persistentvolumeclaims", disk(), "team-a")
    with served(Arm()) as arm, pytest.MonkeyPatch.context() as patch:
        for key, value in arm.identity.items():
            patch.setenv(key, value)
        anf_client.arrange(cluster, arm)
        more += anf_client.settings(arm).replace("anf: {", _ANF)
        with opened(folder, f"sqlite:///{folder}/all.db", world, SETTINGS + more) as client:
            _see(client)
            found = Furnished(client, _furnish(client, world), [])
            found.rows = found._all()
            yield found


def _see(client: CommandClient) -> None:
    """The watches have seen what these tests need."""
    cluster = client.application.clusters["default"]
    kinds: tuple[Resource[Any], ...] = (PVCS, VOLUMES, STORAGE_CLASSES)
    for resource in kinds:
        cluster.view.store(resource).replace(cluster.list(resource))
    eventually(lambda: cluster.view.get(STORAGE_CLASSES, CLASS) is not None)


def _furnish(client: CommandClient, world: Served) -> dict[str, str]:
    do = client.application.database.transaction
    do(_datasets)
    for text in _SAID:
        said = client.says(ALICE, TEAM_A, text)
        assert said.startswith(_TAKEN), (text, said)
    for claim in ("imagenet", "lane-data"):
        _snapshot(client, world, claim)
    for text in _SAID_OF_SNAPSHOTS:
        said = client.says(ALICE, TEAM_A, text)
        assert said.startswith(_TAKEN), (text, said)
    series = held(client, "by-hand", idle_since=datetime.now(UTC))
    do(_age)
    for text in _SAID_OF_FLOWS:
        said = client.says(ALICE, TEAM_A, text)
        assert said.startswith(_TAKEN), (text, said)
    made = do(_rows) | do(_of_sweeps) | do(_of_teams)
    made |= do(lambda session: waiting_requests(session, _row))
    own = {"gpu.mine": str(series), **of_pvcs(client.application)}
    return do(_values) | made | do(of_copies) | _OF_NO_TEAM | own


_SAID = (
    f"/train submit lane {RUN} -- python train.py",
    f"/train submit nb --kind interactive {RUN} -- sleep infinity",
    f"/train submit wide --kind elastic --nodes 1:3 {RUN} -- python train.py",
    f"/train submit old {RUN} -- python train.py",
    f"/train submit theirs {RUN} -- python train.py",
    f"/train submit grid {RUN} --sweep lr=0.1,0.01 -- python train.py --lr {{lr}}",
    f"/train submit xray {RUN} --data retina@v1:/data -- python train.py",
    "/dataset pin kept@v3 --reason deadline",
    "/dataset push imagenet:/run-7 s3://lake/run-7 --yes",
    "/quota request +2 --for 1d --reason deadline",
)
_SAID_OF_SNAPSHOTS = (
    "/snapshot restore imagenet --as again",
    '/snapshot schedule imagenet "0 2 * * *" --max 14',
    "/snapshot pin imagenet --reason paper",
)
_SAID_OF_FLOWS = (
    "/train flow save nightly old",
    "/train flow save weekly old",
    '/train flow schedule weekly --cron "0 2 * * mon"',
)
_TAKEN = (
    "Saved flow ", "Flow `weekly`",
    "Submitted run ", "Submitted sweep ", "Cache retina@v1 and run xray?", "`kept@v3`",
    "Pushing imagenet:/run-7",
    "Requested for team-a: ", "Creating PVC `again`", "Snapshots of `imagenet`", "`imagenet-",
)  # fmt: skip


def _datasets(session: Session) -> None:
    cache = add_cached(session)
    kept = add_cached(session, "kept")
    for each in (cache, kept):
        each.used_at = each.ready_at = datetime.now(UTC) - timedelta(hours=2)
        each.keep_seconds = 86_400
    add_version(session, add_dataset(session, "retina"), "v1")
    add_dataset(session, "faces")
    theirs = add_dataset(session, "theirs", team="team-b", is_open=True)
    add_cache(session, add_version(session, theirs), team="team-b")


def _snapshot(client: CommandClient, world: Served, claim: str) -> None:
    """A snapshot that was taken, in the cluster and in our rows."""
    said = client.says(ALICE, TEAM_A, f"/snapshot create {claim}")
    assert said.startswith("Taking a snapshot of"), said

    def work(session: Session) -> str:
        row = _newest(session, Snapshot)
        row.phase, row.taken_at, row.uid = SnapshotPhase.READY, row.asked_at, "uid"
        row.size_bytes, row.ended_at = row.capacity_bytes, None
        return str(row.name)

    name = client.application.database.transaction(work)
    source = {"source": {"persistentVolumeClaimName": claim}}
    world.cluster.create("volumesnapshots", {"metadata": {"name": name}, "spec": source}, "team-a")
    status = {"readyToUse": True, "creationTime": "2026-11-21T12:00:00Z"}
    world.cluster.inside.world.change(
        VOLUME_SNAPSHOT, ("team-a", name), lambda obj: obj.update(status=status)
    )
    view = client.application.clusters["default"].view

    def seen() -> bool:
        found = view.get(SNAPSHOTS, name, "team-a")
        return found is not None and bool(found.status.ready_to_use)

    eventually(seen)
    found = view.get(SNAPSHOTS, name, "team-a")
    assert found is not None

    def note(session: Session) -> None:
        _newest(session, Snapshot).uid = found.uid

    client.application.database.transaction(note)


def _age(session: Session) -> None:
    """The runs as some time later: two run, one has ended."""
    now = datetime.now(UTC)
    for run in session.scalars(select(Run)):
        if run.name in {"lane", "nb"}:
            run.phase, run.since, run.started_at = RunPhase.RUNNING, now, now
        if run.name == "nb":
            run.until = now + timedelta(hours=8)
        if run.name == "theirs":
            run.person = ERIN
        if run.name == "old":
            run.phase, run.ended_at = RunPhase.SUCCEEDED, now
        session.add(run)


_WAITING = {"box": "s3://lake/box/", "box_store": "lake", "share_id": "",
            "phase": PushPhase.COPYING, "stage": "waiting"}  # fmt: skip
_ANF = "anf: {changes: {longest: 30d}, pool_creation: {}, accounts: [ml-platform/ml], "


def _rows(session: Session) -> dict[str, str]:
    """What only controllers make, or what would be in the way of another verb."""
    orphan = _row(Orphan, kind="PersistentVolume", name="pv-left")
    quota = _row(ManagedQuota, queue="team-a", field="nominalQuota")
    quota.external_value = quota.baseline = 6
    change = _row(VolumeChange, pv_name="pv-other", kind="level", claim_name="other")
    growth = _row(Growth, claim_name="other", size_bytes=2**41, from_bytes=2**40)
    repair = _row(Repair, claim_name="other", volume_name="pv-other")
    revert = _row(Revert, claim_name="other", size_bytes=2**40)
    size = {"size_bytes": 2**41, "from_bytes": 2**40, "phase": ResizePhase.ASKED}
    resize = _row(Resize, claim_name="other", **size)
    deletion = _row(Deletion, claim_name="other", size_bytes=1, phase=DeletionPhase.SAVING)
    lane = session.scalars(select(Run).where(col(Run.name) == "lane")).one()
    wide = session.scalars(select(Run).where(col(Run.name) == "wide")).one()
    follow = _row(LogFollow, run_id=lane.id)
    step = _row(QuotaStep, gpus=2, seconds=3600, reason="deadline")
    watch, wait = _row(RunWatch, run_id=wide.id), _row(GpuWait, gpus=4000)
    upload = _row(Push, target="s3://lake/other/", **_WAITING)
    session.add_all([orphan, quota, change, growth, repair, revert, resize, deletion, follow,
                     watch, wait, step, upload])  # fmt: skip
    session.flush()
    session.refresh(quota)
    return {
        "dataset.remove_orphan": orphan.id,
        "dataset.put_grant": upload.id,
        **dict.fromkeys(("quota.adopt", "quota.rewrite"), f"{quota.id}:{quota.external_value:f}"),
        "anf.give-back": change.id,
        "anf.grow-withdraw": growth.id,
        "anf.repair-withdraw": repair.id,
        "snapshot.cancel-revert": revert.id,
        "pvc.resize-withdraw": resize.id,
        "pvc.delete-cancel": deletion.id,
        **dict.fromkeys(("quota.step", "quota.unstep"), step.id),
        "gpu.unwait": wait.id,
        "train.unwatch": wide.id,
    }


def _of_teams(session: Session) -> dict[str, str]:
    """A team that was created from Slack, and the request for another."""
    said = {"cluster": "default", "namespace": "vision", "queue": "vision"}
    team = SlackTeam(workspace_id="T0QM", name="vision", said=said, objects=[], change_id="any",
                     created_at=datetime.now(UTC))  # fmt: skip
    asked = _row(TeamChange, team="speech", verb="create", said=said, phase=ChangePhase.ASKED)
    session.add_all([team, asked])
    return {"team.remove": "vision", "team.withdraw": asked.id}


def _of_sweeps(session: Session) -> dict[str, str]:
    """The sweep, with the run of its second cell, which its controller would submit."""
    first = session.scalars(select(Run).where(col(Run.name) == "grid-1")).one()
    spec = first.spec | {"cell": first.spec["cell"] | {"number": 2}}
    own = {"id": new_id(), "name": "grid-2", "job_name": "grid-2-any", "spec": spec}
    session.add(Run(**{**first.model_dump(), **own}))
    buttons = ("train.stop-sweep", "train.compare-sweep", "train.curves-of-sweep")
    return dict.fromkeys(buttons, spec["cell"]["sweep"])


def _row(table: Any, **fields: Any) -> Any:
    """A row of Alice's whose other required columns hold anything of their type."""
    usual = {"workspace_id": "T0QM", "team": "team-a", "person": ALICE, "channel": TEAM_A,
             "cluster": "default", "namespace": "team-a"}  # fmt: skip
    anything = {str: "any", int: 1, datetime: datetime.now(UTC)}
    needed = {
        name: usual.get(name, anything.get(field.annotation))
        for name, field in table.model_fields.items()
        if field.is_required() or name in usual
    }
    return table(**{**needed, **fields})


def _values(session: Session) -> dict[str, str]:
    """What buttons say about the rows that were made by saying so."""
    runs = {run.name: run.id for run in session.scalars(select(Run))}
    offer, restore = _newest(session, RunOffer), _newest(session, Restore)
    by_claim = {each.claim_name: each.id for each in session.scalars(select(Snapshot))}
    approval = session.scalars(
        select(Approval).where(col(Approval.subject_id) == _newest(session, Override).id)
    ).one()
    later = int((datetime.now(UTC) + timedelta(days=1)).timestamp())
    words = {"kind": "command", "command": "train", "words": "stop lane", "delivery": "doubted",
             "person": ALICE, "at": round(datetime.now(UTC).timestamp())}  # fmt: skip
    soon = int((datetime.now(UTC) + timedelta(hours=9)).timestamp())
    return {
        "again": json.dumps(words),
        **dict.fromkeys(("train.logs", "train.curves", "train.stop", "gpu.snooze"), runs["lane"]),
        "train.unfollow": _newest(session, LogFollow).id,
        "train.resubmit": runs["old"],
        **dict.fromkeys(("train.open", "train.keep"), runs["nb"]),
        "train.extend": f"{runs['nb']} {soon}",
        "train.requeue": f"{runs['wide']} 1",
        "train.cache": offer.id,
        **_of_anf(),
        "dataset.cache": offer.plans[0],
        "dataset.push": json.dumps(
            {"c": "imagenet", "p": "/run-8", "u": "s3://lake/run-8/", "t": "team-a"}
        ),
        "dataset.push_stop": _newest(session, Push).id,
        **_of_datasets(session, later),
        **dict.fromkeys(("snapshot.delete", "snapshot.restore"), by_claim["lane-data"]),
        "snapshot.unschedule": _newest(session, SnapshotSchedule).id,
        "snapshot.revert-saved": f"{by_claim['lane-data']}:why",
        "snapshot.revert-unsaved": f"{by_claim['lane-data']}:why",
        "snapshot.cancel": restore.id,
        **dict.fromkeys(("approval.approve", "approval.deny"), approval.id),
    }


_OF_NO_TEAM = {"notices.choose": "dm", "qm.refresh": "", "train.link": ""}


def _of_anf() -> dict[str, str]:
    claim = {"t": "team-a", "c": "default", "p": "lane-data"}
    return {
        "anf.go": '{"t":"team-a","c":"default","v":"lane-data","k":"level","l":"Ultra"}',
        "anf.grow": json.dumps({**claim, "s": 2**41}),
        "pvc.resize": json.dumps({**claim, "p": "imagenet", "s": 2**41}),
        "anf.repair": json.dumps({**claim, "v": "pv", "o": "1", "n": "2"}),
    }


def _of_datasets(session: Session, later: int) -> dict[str, str]:
    cache = session.scalars(select(Cache).where(col(Cache.reference) == "chest-xray@v3")).one()
    dataset = session.scalars(select(Dataset).where(col(Dataset.name) == "retina")).one()
    return {
        "dataset.page": json.dumps({"v": cache.version_id, "t": "team-a", "p": "train", "n": 2}),
        "dataset.version": dataset.id,
        "dataset.evict": cache.id,
        "dataset.extend": f"{cache.id} {later + 86_400}",
        "dataset.pin": f"{cache.id} {later}",
    }


def _newest(session: Session, table: Any) -> Any:
    found = session.scalars(select(table).order_by(col(table.id).desc())).first()
    assert found is not None
    return found
