"""What a tag meant is known of every kind of run, and not of what runs beside it."""

from typing import Any

import pytest

from tests.bot.training.rig import Rig
from tests.bot.training.submission.test_names import COMMAND, KINDS, full

__all__ = ["full"]


@pytest.mark.parametrize("options", KINDS, ids=lambda options: "-".join(map(str, options.values())))
def test_every_kind_knows_its_image(full: Rig, options: dict[str, Any]) -> None:
    run_id = full.submit("lane", gpus=1, image="ghcr.io/acme/lane:3.1", **(COMMAND | options))
    full.pass_time(minutes=3)
    assert full.get(run_id).image_id.startswith("ghcr.io/acme/lane@sha256:")
