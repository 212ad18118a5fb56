"""What is left over in a cluster: found, told once a day, removed when somebody says so."""

from datetime import timedelta
from typing import Any

import pytest
from sqlmodel import Session, col, select

from bot.cluster import labels
from bot.cluster.resources import JOBS, PVCS
from bot.database.database import Database
from bot.datasets.caches.tables import CachePhase, Orphan
from bot.datasets.leftovers.controller import OrphanController, look_for_orphans
from bot.datasets.usage.service import UsageService
from bot.people.access import Caller, ChannelPlace, Role
from bot.reconcile.loop import Loop
from bot.slack.messages import Message
from playground.cluster.story import storage_class
from tests.bot.datasets.caches.keeping import Keeping
from tests.bot.ground import CAROL, INSTALLATION, Outside
from tests.bot.volumes.losing import STAYS, lose

ADMIN = Caller("T0QM", CAROL, "C0ADMINS", ChannelPlace.APPROVALS, None, frozenset({Role.ADMIN}))


class Leftovers(Keeping):
    """A cluster in which something may be left over."""

    def __init__(self, database: Database, outside: Outside) -> None:
        super().__init__(database, outside)
        slack = self.policy.slack.model_copy(update={"admin_channel": "C0ADMINS"})
        self.policy = self.policy.model_copy(update={"slack": slack})
        world = self.context
        self.searching = Loop(database, self.clock, [OrphanController(world)])
        self.usage = UsageService(self.settings, self.clusters)

    def leave(self, name: str, **more: Any) -> None:
        """A PVC of ours of which no row knows."""
        ours = {labels.INSTALLATION: INSTALLATION, labels.DATASET_CACHE: "forgotten"}
        claim = {
            "metadata": {"name": name, "labels": ours | more},
            "spec": {
                "accessModes": ["ReadWriteMany"],
                "storageClassName": "standard",
                "resources": {"requests": {"storage": "100Gi"}},
            },
        }
        self.world.create("persistentvolumeclaims", claim, "datasets")
        self.world.settle()

    def search(self) -> list[Orphan]:
        """What is left over after a search."""
        now = self.clock.now()
        self.do(lambda session: look_for_orphans(self.settings(), session, now))
        self.searching.run_due()
        return self.known()

    def known(self) -> list[Orphan]:
        live = select(Orphan).where(col(Orphan.gone_at).is_(None)).order_by(col(Orphan.name))
        return list(self.do(lambda session: session.exec(live).all()))

    def remove(self, orphan: Orphan) -> list[Orphan]:
        """Carol clicks; what is left over then."""
        now = self.clock.now()
        self.do(lambda session: self.usage.remove(session, ADMIN, orphan.id, now))
        self.searching.run_due()
        return self.known()

    def reports(self) -> list[tuple[str, str, list[str]]]:
        """The reports: where, and what they say and offer."""

        def work(session: Session) -> list[tuple[str, str, list[str]]]:
            rows = session.exec(select(Message).where(Message.subject_kind == "dataset-orphan"))
            return [
                (row.channel, "\n".join(row.content or ()),
                 [each["label"] for each in row.buttons or ()])
                for row in rows
            ]  # fmt: skip

        return self.do(work)


@pytest.fixture
def left(own_database: Database, outside: Outside) -> Leftovers:
    return Leftovers(own_database, outside)


def test_what_no_row_needs_is_told_daily(left: Leftovers) -> None:
    left.cache()
    left.leave("forgotten-1")
    assert left.search() == []  # It is too young: its row may be about to be written.
    left.outside.clock.moment += timedelta(days=2)
    (orphan,) = left.search()
    assert (orphan.kind, orphan.name, orphan.size_bytes) == (PVCS.kind, "forgotten-1", 100 * 2**30)
    left.search()
    assert left.reports() == [
        (
            "C0ADMINS",
            (
                "1 object of datasets is left over and not needed, 100 GiB in total."
                " Nothing is deleted without confirmation.\n"
                "PersistentVolumeClaim `datasets/forgotten-1`: 100 GiB on standard, created 2d ago."
            ),
            ["Remove forgotten-1"],
        )
    ]
    left.outside.clock.moment += timedelta(days=1)
    left.search()
    assert len(left.reports()) == 2


def test_it_goes_when_somebody_says_so(left: Leftovers) -> None:
    left.leave("forgotten-1")
    left.outside.clock.moment += timedelta(days=2)
    (orphan,) = left.search()
    assert left.effects() == []
    left.remove(orphan)
    left.pass_time(minutes=1)
    assert left.search() == []
    assert left.effects() == ["delete persistentvolumeclaims"]
    assert left.cluster.list(PVCS, "datasets") == []


def test_what_a_pod_mounts_is_not_removed(left: Leftovers) -> None:
    left.leave("forgotten-1")
    claim = {"persistentVolumeClaim": {"claimName": "forgotten-1"}}
    container = {"name": "main", "image": "busybox", "command": ["sleep", "infinity"]}
    spec = {"containers": [container], "volumes": [{"name": "data", **claim}]}
    left.world.create("pods", {"metadata": {"name": "loader"}, "spec": spec}, "datasets")
    left.outside.clock.moment += timedelta(days=2)
    (orphan,) = left.search()
    (orphan,) = left.remove(orphan)
    assert (orphan.wanted_by, orphan.trouble, left.effects()) == (
        None,
        "Pod loader in namespace datasets mounts it.",
        [],
    )


def test_jobs_of_evicted_caches_are_left_over(left: Leftovers) -> None:
    cache_id = left.cache(phase=CachePhase.EVICTED, is_cleared=True)
    cache = left.get(cache_id)
    marks = left.claim(cache)["metadata"]["labels"]
    pod = {"restartPolicy": "Never", "containers": [{"name": "worker", "image": "busybox"}]}
    job = {
        "metadata": {"name": cache.job_name, "labels": marks},
        "spec": {"template": {"metadata": {"labels": marks}, "spec": pod}},
    }
    left.world.create("jobs", job, "datasets")
    left.outside.clock.moment += timedelta(days=2)
    assert sorted(each.kind for each in left.search()) == [JOBS.kind, PVCS.kind]


def test_released_volumes_of_caches_are_named(left: Leftovers) -> None:
    kept = storage_class("kept", seconds=0) | {"reclaimPolicy": "Retain"}
    left.world.create("storageclasses", kept)
    cache_id = left.cache(storage_class="kept")
    left.mark(cache_id)
    left.pass_time(minutes=1)
    left.outside.clock.moment += timedelta(days=1)
    (orphan,) = left.search()
    assert (orphan.kind, orphan.name) == ("PersistentVolume", left.get(cache_id).volume_name)
    ((_, said, buttons),) = left.reports()
    assert buttons == []
    assert said.endswith(
        f"`kubectl patch pv {orphan.name}"
        """ -p '{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}'`"""
    )


def test_objects_of_others_are_never_named(left: Leftovers) -> None:
    left.leave("other-bot", **{labels.INSTALLATION: "another"})
    left.outside.clock.moment += timedelta(days=2)
    assert left.search() == []


def test_claim_on_a_lost_volume_is_not_removed(left: Leftovers) -> None:
    left.leave("forgotten-1")
    left.outside.clock.moment += timedelta(days=2)
    (orphan,) = left.search()
    lose(left, "forgotten-1", "datasets")
    (orphan,) = left.remove(orphan)
    assert (orphan.wanted_by, orphan.trouble, left.effects()) == (None, STAYS, [])
