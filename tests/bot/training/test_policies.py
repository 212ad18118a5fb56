"""What a cluster's policies forbid ends a run in their words; what may pass is tried again."""

import pytest

from bot.training.tables import Phase
from tests.bot.ground import DENIAL
from tests.bot.training.rig import Rig

ADVICE = "Change what the policy objects to, or ask a platform admin about the policy."
VAP = (
    "jobs.batch \"{name}\" is forbidden: ValidatingAdmissionPolicy 'images' with binding 'all'"
    " denied request: images come from registry.acme.com"
)


@pytest.mark.parametrize(
    ("words", "end"),
    [
        (VAP, "ValidatingAdmissionPolicy 'images' denied request: images come from registry"),
        (DENIAL, DENIAL),
    ],
)
def test_a_policy_ends_the_run_in_its_words(rig: Rig, words: str, end: str) -> None:
    rig.deny("jobs", words)
    run_id = rig.submit()
    rig.pass_time(minutes=10)
    run = rig.get(run_id)
    assert (run.phase, run.unblock, run.trouble) == (Phase.FAILED, ADVICE, "")
    assert run.reason.startswith(f"Creating Job {run.job_name} in namespace team-a on cluster")
    assert end in run.reason
    assert rig.effects().count("create jobs") == 1
    assert ADVICE in rig.card(run_id)


def test_a_policy_on_a_companion_ends_it(rig: Rig) -> None:
    rig.deny("services", 'services "{name}" is forbidden: LimitRange says no')
    run_id = rig.submit(kind="sync", nodes=2)
    rig.pass_time(minutes=10)
    run = rig.get(run_id)
    assert (run.phase, run.unblock) == (Phase.FAILED, ADVICE)
    assert run.reason.endswith("LimitRange says no.")
    assert rig.world.list("jobs", "team-a") == []


def test_a_missing_right_is_told_and_waited_for(rig: Rig) -> None:
    rig.world.forbid("create", "jobs")
    run_id = rig.submit()
    rig.pass_time(minutes=5)
    run = rig.get(run_id)
    assert run.phase == Phase.ASKED
    assert run.trouble.endswith(
        "The bot lacks a right in the cluster; `quartermaster doctor` lists those it needs."
    )
    rig.world.allow("create", "jobs")
    rig.pass_time(minutes=6)
    assert (rig.get(run_id).phase, rig.get(run_id).trouble) == (Phase.SUCCEEDED, "")


def test_a_server_that_just_began_is_asked_again(rig: Rig) -> None:
    allow = rig.deny("jobs", 'jobs.batch "{name}" is forbidden: not yet ready to handle request')
    run_id = rig.submit()
    rig.pass_time(minutes=1)
    allow()
    rig.pass_time(minutes=6)
    assert rig.get(run_id).phase == Phase.SUCCEEDED
