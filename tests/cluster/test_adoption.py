"""A lost database is adopted from a real control plane, with the bot's own rights alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.adopting.adopting import adopt_from
from bot.adopting.report import Report
from bot.cluster.cluster import Cluster
from bot.config import Settings
from bot.database.database import Database
from bot.snapshots.tables import Snapshot, SnapshotPhase
from bot.teams.tables import ChangePhase, SlackTeam
from tests.bot.ground import INSTALLATION
from tests.cluster.control_plane import ControlPlane
from tests.cluster.csi import clear
from tests.cluster.site import Site
from tests.cluster.test_snapshots import Rig as Snapshots
from tests.cluster.test_teams import Rig as Teams
from tests.databases import create_tables


@pytest.fixture
def anew(tmp_path: Path) -> Iterator[Database]:
    """A database that was migrated and never used."""
    url = f"sqlite:///{tmp_path}/anew.db"
    create_tables(url)
    database = Database(url)
    yield database
    database.close()


def adopted(
    database: Database, settings: Settings, cluster: Cluster, rig: Snapshots | Teams
) -> Report:
    """What a trial shows is what is adopted then, of what other tests left, too."""
    asked, now = {"default": cluster}, rig.clock.now()
    shown = adopt_from(database, settings, asked, INSTALLATION, now=now, is_trial=True)
    report = adopt_from(database, settings, asked, INSTALLATION, now=now, is_trial=False)
    assert [each.adopted for each in report.kinds] == [each.adopted for each in shown.kinds]
    return report


def test_a_lost_team_is_known_and_removed(
    plane: ControlPlane, site: Site, own_database: Database, anew: Database
) -> None:
    rig, flavor = Teams(plane, own_database, "kueue"), site.add_flavor()
    row = rig.created(gpu_type=flavor)
    try:
        teams, *_ = adopted(anew, rig.settings, rig.cluster, rig).kinds
    finally:
        removed = rig.removed()
    assert removed.phase == ChangePhase.DONE
    assert f"{rig.team}: namespace {rig.team} on default" in teams.adopted
    found = anew.transaction(lambda session: session.get_one(SlackTeam, ("T0QM", rig.team)))
    assert (found.said, found.objects) == (row.said, row.objects)


def test_a_lost_snapshot_is_known_again(
    plane: ControlPlane, site: Site, own_database: Database, anew: Database
) -> None:
    rig = Snapshots(plane, site, own_database)
    row_id = rig.take()
    rig.until(lambda: rig.found(row_id).phase == SnapshotPhase.READY, taking=row_id)
    before = rig.found(row_id)
    adopted(anew, rig.settings, rig.cluster, rig)
    after = anew.transaction(lambda session: session.get_one(Snapshot, row_id))
    told = {"id", "uid", "name", "phase", "taken_at", "size_bytes", "driver", "deletion_policy"}
    assert after.model_dump(include=told) == before.model_dump(include=told)
    clear(rig.api, rig.team)
