"""What people can say of a run's data, and what of it is refused."""

import re
from typing import Any

import pytest

from bot.config import Preset
from bot.errors import UsageError
from bot.slack.grammar.container_parameters import Artifact, DataMount, DatasetMount, NewVolume
from bot.training.submission.building import Submission
from bot.training.submission.presets import with_preset
from handlers.train.runs import train
from tests.bot.training.rig import IMAGE, Rig

DATA = (DataMount("chest-xray@v3", "/data"),)


def refusal(rig: Rig, **fields: Any) -> tuple[str, str]:
    with pytest.raises(UsageError) as caught:
        rig.submit(**fields)
    return caught.value.message, caught.value.hint


def test_a_path_is_mounted_once_only(rig: Rig) -> None:
    twice = {"data": DATA, "pvc": (NewVolume("standard", "1Gi", "/data/"),)}
    assert refusal(rig, **twice) == (
        "/data would be mounted twice.",
        "Give each volume its own path: `--pvc claim:/data`.",
    )


def test_what_it_makes_is_not_on_data(rig: Rig) -> None:
    said, _ = refusal(rig, data=DATA, artifact=(Artifact("/data/model.pt"),))
    assert said == (
        "`--artifact /data/model.pt` is below /data, where the run reads chest-xray@v3: nothing can"
        " be written there."
    )


def test_a_preset_can_name_the_data() -> None:
    preset = Preset(image=IMAGE, data=("chest-xray@v3:/data", "labels:/labels"))
    asked = Submission("lane", data=(DataMount("labels@v1", "/labels"),), preset="xray")
    whole = with_preset(asked, {"xray": preset}, train.verbs["submit"].parameters)
    assert whole.data == (*DATA, DataMount("labels@v1", "/labels"))


@pytest.mark.parametrize(
    "text", ["chest-xray", "chest-xray:data", "chest-xray@:/data", "chest-xray:/a/../b", "X:/data"]
)
def test_what_names_no_data_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        DatasetMount().read(text)
