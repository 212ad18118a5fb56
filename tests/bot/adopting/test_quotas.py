"""Quotas that overrides raised before the database was lost: each is set back once."""

import json
from datetime import datetime, timedelta
from pathlib import Path

from bot.adopting.adopting import adopt_from
from bot.database.schema import installation
from bot.quotas.managed.controller import QuotaController
from bot.quotas.watching import recover
from bot.reconcile.loop import Loop
from tests.bot.adopting.rig import adopt, found, lose_database
from tests.bot.ground import INSTALLATION
from tests.bot.training.rig import Rig

PATCH = "patch clusterqueues"


def raised(rig: Rig, until: datetime, installation: str = INSTALLATION) -> None:
    """An override gave team-a 12 instead of 4 GPUs."""
    note = {"ids": ["01aa"], "baseline": "4", "value": "12", "until": until.isoformat()}
    content = {"installation": installation, "fields": {"h100/nvidia.com/gpu/nominalQuota": note}}
    rig.world.set_quota("team-a", "12")
    annotations = {"quartermaster.dev/override": json.dumps(content)}
    rig.world.patch("clusterqueues", "team-a", {"metadata": {"annotations": annotations}})


def nominal(rig: Rig) -> str:
    queue = found(rig, "clusterqueues", "team-a")
    (gpu,) = (
        each
        for each in queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
        if each["name"] == "nvidia.com/gpu"
    )
    return str(gpu["nominalQuota"])


def serve(rig: Rig) -> None:
    """What the server does with quotas in a minute."""
    rig.look()
    rig.do(lambda session: recover(session, rig.engine, "T0QM", rig.clock.now()))
    rig.loop = Loop(
        rig.database, rig.clock, [QuotaController(rig.database, rig.clock, rig.engines)]
    )
    rig.run()


def test_a_quota_past_its_end_is_restored(rig: Rig, tmp_path: Path) -> None:
    raised(rig, rig.clock.now() - timedelta(hours=1))
    lose_database(rig, tmp_path)
    assert adopt(rig) == [
        "Quotas that the server sets back:",
        "  ClusterQueue team-a on default, nominalQuota of nvidia.com/gpu (h100): 12 → 4 at once",
    ]
    assert nominal(rig) == "12"
    for _ in range(3):
        serve(rig)
    assert nominal(rig) == "4"
    assert rig.effects() == [PATCH]
    assert "quartermaster.dev/override" not in (
        found(rig, "clusterqueues", "team-a")["metadata"].get("annotations") or {}
    )


def test_a_quota_is_set_back_at_its_end(rig: Rig, tmp_path: Path) -> None:
    raised(rig, rig.clock.now() + timedelta(hours=1))
    lose_database(rig, tmp_path)
    assert adopt(rig)[1].endswith(": 12 → 4 at 2026-11-21 13:00 UTC")
    serve(rig)
    assert (nominal(rig), rig.effects()) == ("12", [])
    rig.outside.clock.moment += timedelta(hours=1, minutes=1)
    for _ in range(3):
        serve(rig)
    assert (nominal(rig), rig.effects()) == ("4", [PATCH])


def test_only_an_annotation_tells_the_installation(rig: Rig, tmp_path: Path) -> None:
    raised(rig, rig.clock.now(), installation="fedcba9876543210")
    lose_database(rig, tmp_path)
    report = adopt_from(
        rig.database, rig.policy, rig.clusters, None, now=rig.clock.now(), is_trial=False
    )
    assert report.installation == "fedcba9876543210"
    assert rig.do(installation) == "fedcba9876543210"


def test_an_annotation_nobody_can_read_is_reported(rig: Rig, tmp_path: Path) -> None:
    rig.submit()
    rig.run()
    annotations = {"quartermaster.dev/override": "{}"}
    rig.world.patch("clusterqueues", "team-b", {"metadata": {"annotations": annotations}})
    lose_database(rig, tmp_path)
    assert adopt(rig)[3] == (
        "  ClusterQueue team-b on default: Its annotation quartermaster.dev/override cannot be"
        " read. Compare its quotas, set them back by hand, and remove the annotation."
    )
