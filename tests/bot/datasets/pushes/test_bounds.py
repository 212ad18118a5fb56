"""Where teams may push to, when they ask and when it is their turn."""

from typing import Any

import pytest

from bot.datasets.tables import PushPhase
from bot.errors import UserError
from tests.bot.datasets.pushes.pushing import Pushing
from tests.bot.datasets.rig import with_places

OWN = {"team-a": ["s3://lake/team-a/"], "team-b": ["s3://lake/team-b/"]}
RUN = "s3://lake/team-a/run-7/"


@pytest.fixture
def rig(rig: Pushing) -> Pushing:
    rig.policy = with_places(rig.policy, OWN, "s3://lake/public/")
    return rig


def refusal(rig: Pushing, target: str, **options: Any) -> str:
    """What both the question and its button say."""
    with pytest.raises(UserError) as asked:
        rig.ask(target=target, **options)
    with pytest.raises(UserError) as begun:
        rig.push(target=target, **options)
    assert asked.value.message == begun.value.message
    return begun.value.message


@pytest.mark.parametrize(
    "target",
    [
        "s3://lake/",
        "s3://lake/team-b/run-7/",
        "s3://lake/team-ab/run-7/",
        "s3://lake/public/run-7/",
        "s3://elsewhere/team-a/run-7/",
    ],
)
def test_places_of_nobody_are_refused(rig: Pushing, target: str) -> None:
    for is_overwriting in (False, True):
        said = refusal(rig, target, is_overwriting=is_overwriting)
        assert said == f"team-a may not push to {target}."


@pytest.mark.parametrize(
    "target",
    ["s3://lake/team-a/../team-b/", "s3://lake/team-a/%2E%2e/team-b/", "s3://lake//team-a/"],
)
def test_buttons_with_odd_targets_are_refused(rig: Pushing, target: str) -> None:
    assert refusal(rig, target) == f"{target} can mean several places."


def test_the_state_cannot_be_overwritten(rig: Pushing) -> None:
    rig.policy = with_places(rig.policy, {"team-a": ["s3://qm-state/"]})
    said = (
        "s3://qm-state/prod/ is reserved for the bot, which keeps the manifests of versions there."
    )
    for target in ("s3://qm-state/", "s3://qm-state/prod/", "s3://qm-state/prod/manifests/"):
        assert refusal(rig, target, is_overwriting=True) == said


def test_a_revoked_place_ends_the_push(rig: Pushing) -> None:
    push_id = rig.push(target=RUN)
    rig.policy = with_places(rig.policy, {"team-b": ["s3://lake/"]})
    rig.pass_time(minutes=2)
    push = rig.found(push_id)
    assert (push.phase, push.reason) == (PushPhase.FAILED, f"team-a may not push to {RUN}.")
    assert rig.nothing_is_left()


def test_a_place_revoked_later_makes_no_dataset(rig: Pushing) -> None:
    push_id = rig.push(target=RUN, dataset="run-7")
    rig.pass_time(seconds=20)
    rig.policy = with_places(rig.policy, {"team-b": ["s3://lake/"]})
    rig.pass_time(minutes=2)
    push = rig.found(push_id)
    assert (push.phase, push.version_id) == (PushPhase.PUSHED, None)
    assert push.unrecorded.startswith("team-a may not use any object store.")
