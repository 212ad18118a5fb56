"""Runs say which PVCs they use, so that nobody takes back under them what these can do."""

from bot import holds
from bot.slack.grammar.container_parameters import VolumeMount
from bot.volumes.changes.holds import CLAIM
from playground.cluster.story import claim
from tests.bot.ground import START
from tests.bot.training.rig import Rig
from tests.bot.training.runs.test_data_runs import DATA, cached, share


def users(rig: Rig, name: str) -> list[str]:
    place = f"default/team-a/{name}"
    return [each.why for each in rig.do(lambda session: holds.on(session, CLAIM, place, START))]


def test_run_uses_its_volumes_until_it_ends(rig: Rig) -> None:
    cached(rig)
    rig.world.create("persistentvolumeclaims", claim("results"), "team-a")
    rig.look()
    mounts = (VolumeMount("results", "/results", read_only=False),)
    run_id = rig.submit(data=DATA, pvc=mounts)
    seen = share(rig)
    assert users(rig, "results") == users(rig, seen) == ["run lane of team-a"]
    rig.stop(run_id)
    rig.pass_time(minutes=5)
    assert not rig.get(run_id).is_live
    assert users(rig, "results") == users(rig, seen) == []
