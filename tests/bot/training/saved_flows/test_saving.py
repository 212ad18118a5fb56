"""What is saved of runs, and what the runs of a start become."""

import pytest

from bot.errors import ConflictError, NotFoundError
from bot.slack.grammar.container_parameters import NewVolume, VolumeMount
from bot.slack.grammar.parameters import Reference, RunEnd
from bot.training.kinds.pods.volumes import claim_name, mounts_of
from bot.training.saved_flows.steps import steps_of
from bot.training.spec import asked_spec
from tests.bot.training.rig import Rig
from tests.bot.training.saved_flows.flowing import (
    after,
    named,
    row_of,
    runs,
    saves,
    starts,
    submits,
)
from tests.bot.training.sweeps.sweeping import sweeps


def edges(rig: Rig, flow_id: str) -> dict[str, list[str]]:
    """What each step waits for."""
    steps = steps_of(row_of(rig, flow_id).steps)
    return {each.name: [edge.spelled for edge in each.after] for each in steps}


def test_all_connected_runs_are_saved(rig: Rig) -> None:
    submits(rig)
    rig.submit("other")
    rig.submit("report", gpus=0, **after("prep", is_any=True))
    whole = {"prep": [], "train": ["prep"], "report": ["prep:any"], "eval": ["train"]}
    for name in ("prep", "eval", "report"):
        assert edges(rig, saves(rig, f"from-{name}", name)) == whole
    assert edges(rig, saves(rig, "alone", "other")) == {"other": []}


def test_the_newest_run_of_a_name_counts(rig: Rig) -> None:
    _, train, _ = submits(rig)
    rig.stop(train)
    rig.pass_time(seconds=5)
    rig.submit("train", gpus=1, **after("prep"))
    flow_id = saves(rig)
    assert edges(rig, flow_id) == {"prep": [], "train": ["prep"], "eval": ["train"]}
    train_step = steps_of(row_of(rig, flow_id).steps)[1]
    assert train_step.root_name == named(rig, "train#2").job_name


def test_a_circle_of_names_is_refused(rig: Rig) -> None:
    first = rig.submit("prep", gpus=0)
    rig.submit("train", **after("prep"))
    rig.stop(first)
    rig.pass_time(seconds=30)
    rig.submit("prep", gpus=0, **after("train", is_any=True))
    with pytest.raises(ConflictError) as caught:
        saves(rig)
    assert caught.value.message == (
        "The newest runs of these names wait for each other in a circle: prep and train."
    )


def test_new_pvcs_are_handed_to_later_runs(rig: Rig) -> None:
    rig.look()
    prep = rig.submit("prep", gpus=0, pvc=(NewVolume("standard", "10Gi", "/mnt"),))
    claim = claim_name(rig.get(prep).job_name, 0)
    mount = VolumeMount(claim, "/data", read_only=True)
    rig.submit("train", pvc=(mount,), **after("prep"))
    flow_id = saves(rig)
    rig.forget_due()
    assert starts(rig, flow_id, "b") == ["prep-b", "train-b"]
    made, reads = named(rig, "prep-b"), named(rig, "train-b")
    created = mounts_of(made.job_name, asked_spec(made))[0]
    assert (created.claim, created.path) == (claim_name(made.job_name, 0), "/mnt")
    assert [each.claim for each in asked_spec(reads).mounts] == [created.claim]


def test_existing_pvcs_are_mounted_again(rig: Rig) -> None:
    rig.look()
    prep = rig.submit("prep", gpus=0, pvc=(NewVolume("standard", "10Gi", "/mnt"),))
    claim = claim_name(rig.get(prep).job_name, 0)
    rig.submit("train", pvc=(VolumeMount(claim, "/data", read_only=True),), **after("prep"))
    flow_id = saves(rig)
    rig.pass_time(minutes=30)
    starts(rig, flow_id)
    for reference in ("prep#2", "train#2"):
        spec = asked_spec(named(rig, reference))
        assert ([each.claim for each in spec.mounts], spec.volumes) == ([claim], ())


def test_several_edges_of_a_run_are_kept(rig: Rig) -> None:
    rig.submit("left", gpus=0)
    rig.submit("right", gpus=0)
    both = (RunEnd(Reference("left"), is_any=False), RunEnd(Reference("right"), is_any=True))
    rig.submit("join", gpus=0, after=both)
    flow_id = saves(rig, run="join")
    rig.pass_time(minutes=30)
    starts(rig, flow_id)
    assert [each.spelled for each in asked_spec(named(rig, "join#2")).after] == [
        "left#2", "right#2:any",
    ]  # fmt: skip


def test_a_lost_preset_refuses_the_flow(rig: Rig) -> None:
    rig.submit("prep", gpus=0)
    rig.submit("train", preset="resnet", **after("prep"))
    flow_id = saves(rig)
    rig.pass_time(minutes=30)
    with pytest.raises(NotFoundError) as caught:
        starts(rig, flow_id)
    assert caught.value.message == (
        "Run train of the flow was refused: There is no preset resnet any more."
    )
    assert [run.reference for run in runs(rig)] == ["prep", "train"]


def test_a_cell_becomes_a_run_of_its_own(rig: Rig) -> None:
    rig.look()
    sweeps(rig)
    flow_id = saves(rig, run="wide-1")
    rig.pass_time(minutes=30)
    assert starts(rig, flow_id) == ["wide-1#2"]
    spec = asked_spec(named(rig, "wide-1#2"))
    assert (spec.cell, spec.command[-2:]) == (None, ("--bs", "32"))


def test_pvcs_of_one_start_serve_the_next(rig: Rig) -> None:
    rig.look()
    prep = rig.submit("prep", gpus=0, pvc=(NewVolume("standard", "10Gi", "/mnt"),))
    lost = claim_name(rig.get(prep).job_name, 0)
    rig.submit("train", pvc=(VolumeMount(lost, "/data", read_only=True),), **after("prep"))
    flow_id = saves(rig)
    rig.stop(prep)
    rig.pass_time(minutes=1)
    starts(rig, flow_id)
    rig.pass_time(minutes=30)
    starts(rig, flow_id)
    first = claim_name(named(rig, "prep#2").job_name, 0)
    for reference in ("prep#3", "train#3"):
        spec = asked_spec(named(rig, reference))
        assert ([each.claim for each in spec.mounts], spec.volumes) == ([first], ())
