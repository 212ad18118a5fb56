"""What runs make: on which volume it is, and what would be lost and is refused."""

import json

import pytest

from bot.config import Preset
from bot.errors import UsageError
from bot.slack.grammar.container_parameters import (
    Artifact,
    ArtifactPath,
    DataMount,
    NewVolume,
    VolumeMount,
)
from bot.training.records.record import details, export_text
from bot.training.records.spans import times_of
from bot.training.spec import SHM_PATH, CreatedVolume, RunSpec
from bot.training.submission.artifacts import Kept, artifacts_of, refuse_lost
from bot.training.submission.building import Submission
from bot.training.submission.presets import with_preset
from handlers.train.runs import train
from tests.bot.training.rig import IMAGE, Rig

DATA = VolumeMount("imagenet", "/data", read_only=True)
OUT = VolumeMount("team-a-data", "/out/", read_only=False)
NEW = NewVolume("standard", "100Gi", "/out/new")


@pytest.mark.parametrize(
    ("path", "message", "hint"),
    [
        (
            "/scratch/a.pt",
            (
                "`--artifact /scratch/a.pt` is not on a PVC of the run, so it would be lost with"
                " its pod."
            ),
            (
                "Mount a PVC for it, for example `--pvc claim:/scratch`. Or write it below /out or"
                " /out/new."
            ),
        ),
        (
            f"{SHM_PATH}/a.pt",
            "`--artifact /dev/shm/a.pt` is in memory, so it would be lost with its pod.",
            (
                "Mount a PVC for it, for example `--pvc claim:/out`. Or write it below /out or"
                " /out/new."
            ),
        ),
        (
            "/outer",
            "`--artifact /outer` is not on a PVC of the run, so it would be lost with its pod.",
            (
                "Mount a PVC for it, for example `--pvc claim:/out`. Or write it below /out or"
                " /out/new."
            ),
        ),
        (
            "/data/model.pt",
            ("`--artifact /data/model.pt` is on PVC imagenet, which the run mounts read-only."),
            "Mount it read-write: `--pvc imagenet:/data`.",
        ),
    ],
)
def test_what_would_be_lost_is_refused(path: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as refused:
        refuse_lost([Artifact("/out/a"), Artifact(path)], (DATA, OUT, NEW))
    assert (refused.value.message, refused.value.hint) == (message, hint)


@pytest.mark.parametrize("path", ["/out/set/model.pt", "/out/set"])
def test_artifacts_below_data_are_refused(path: str) -> None:
    data = DataMount("chest-xray@v3", "/out/set/")
    with pytest.raises(UsageError) as refused:
        refuse_lost([Artifact("/out/a"), Artifact(path)], (OUT,), (data,))
    assert (refused.value.message, refused.value.hint) == (
        (
            f"`--artifact {path}` is below /out/set, where the run reads chest-xray@v3: nothing can"
            " be written there."
        ),
        (
            "Write it to a PVC, for example"
            f" `--pvc results:/out --artifact /out/{path.rpartition('/')[2]}`."
        ),
    )


def test_without_a_volume_one_is_asked_for(rig: Rig) -> None:
    with pytest.raises(UsageError) as refused:
        rig.submit(artifact=(Artifact("/out/model.pt"),))
    assert refused.value.hint == "Mount a PVC for it, for example `--pvc claim:/out`."


def test_the_nearest_mount_has_it() -> None:
    spec = RunSpec(
        image=IMAGE,
        cpu="1",
        memory="1Gi",
        mounts=(DATA, OUT),
        volumes=(CreatedVolume(storage_class="standard", size="100Gi", path="/out/new"),),
        artifacts=("/out/a/b.pt", "/out/new/c.pt", "/out"),
    )
    assert artifacts_of("lane-1", spec) == (
        Kept("/out/a/b.pt", "team-a-data", "a/b.pt"),
        Kept("/out/new/c.pt", "pvc-lane-1-0", "c.pt"),
        Kept("/out", "team-a-data", ""),
    )


def test_the_record_says_where_it_is(rig: Rig) -> None:
    model = Artifact("/out/model.pt")
    run_id = rig.submit(pvc=(DATA, OUT), artifact=(model, model))
    rig.pass_time(minutes=5)
    run, now = rig.get(run_id), rig.clock.now()
    times = rig.do(lambda session: times_of(session, run, now))
    assert json.loads(export_text(run, times, now))["artifacts"] == [
        {"path": "/out/model.pt", "claim": "team-a-data", "within": "model.pt"}
    ]
    assert ("Artifact", "`/out/model.pt`, on PVC `team-a-data`") in details(run, times)


def test_a_preset_adds_what_it_makes() -> None:
    preset = Preset(artifact=("/out/model.pt", "/out/log"), pvc=("team-a-data:/out",))
    asked = Submission("lane", preset="lane", artifact=(Artifact("/out/log"),))
    whole = with_preset(asked, {"lane": preset}, train.verbs["submit"].parameters)
    assert whole.paths == ("/out/model.pt", "/out/log")


@pytest.mark.parametrize(
    "text", ["", "/", "out/model.pt", "/out/../etc", "/out/./a", "/a b", "//a"]
)
def test_only_plain_absolute_paths_are_taken(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        ArtifactPath().read(text)


def test_a_slash_at_its_end_is_dropped() -> None:
    assert ArtifactPath().read("/out/checkpoints/") == Artifact("/out/checkpoints")
