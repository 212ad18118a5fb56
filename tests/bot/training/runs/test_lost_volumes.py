"""Runs on volumes that Trident does not find any more: refused when they are submitted."""

from bot.slack.grammar.container_parameters import VolumeMount
from tests.bot.datasets.caches.rows import only_cache
from tests.bot.training.rig import Rig
from tests.bot.training.runs.test_data_runs import DATA, cached, refusal
from tests.bot.volumes.losing import find, lose, said

MOUNT = (VolumeMount("imagenet", "/data", read_only=False),)


def test_run_on_a_lost_volume_is_refused(rig: Rig) -> None:
    lose(rig, "imagenet")
    assert refusal(rig, pvc=MOUNT) == said("imagenet", "mounted by a new run")
    find(rig)
    rig.submit(pvc=MOUNT)


def test_lost_volumes_of_others_refuse_nothing(rig: Rig) -> None:
    lose(rig, "imagenet", "team-b")
    lose(rig, "team-a-data")
    rig.submit(pvc=MOUNT)


def test_data_on_a_lost_volume_is_refused(rig: Rig) -> None:
    cached(rig)
    claim = rig.do(lambda session: only_cache(session).claim_name)
    lose(rig, claim, "datasets")
    assert refusal(rig, data=DATA) == said(claim, "mounted by a new run")


def test_run_that_goes_on_is_left_alone(rig: Rig) -> None:
    run_id = rig.submit(pvc=MOUNT)
    rig.pass_time(minutes=1)
    lose(rig, "imagenet")
    rig.pass_time(minutes=1)
    assert rig.get(run_id).is_live
