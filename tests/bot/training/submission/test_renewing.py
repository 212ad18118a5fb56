"""Runs that start again: whose they are, and what today's settings make of them."""

from typing import Any

import pytest
from sqlmodel import Session

from bot.slack.grammar.parameters import Reference
from bot.training.submission.new_run import Submitted
from bot.training.tables import RunPhase
from tests.bot.ground import ALICE, BOB, ERIN
from tests.bot.training.rig import Rig, settings
from tests.bot.training.runs.test_scaling import submit

ACCOUNT = (
    "Under the team's current settings, it runs as service account trainer; before, as no service"
    " account of the team."
)
SECRETS = (
    "Under the team's current settings, its image is pulled with new-registry; before, with"
    " old-registry."
)


def again(rig: Rig, person: str = ALICE) -> Submitted:
    by = rig.caller(person)

    def work(session: Session) -> Submitted:
        run = rig.service.find(session, "team-a", Reference("lane"))
        return rig.service.resubmit(session, by, run, rig.clock.now())

    return rig.do(work)


def ended(rig: Rig, **team: Any) -> str:
    rig.policy = settings(**team)
    run_id = rig.submit()
    rig.stop(run_id)
    rig.pass_time(minutes=2)
    return run_id


def requeue(rig: Rig, run_id: str) -> None:
    """A lead starts it again, with two nodes."""
    by = rig.caller(ERIN)

    def work(session: Session) -> None:
        run = rig.service.get(session, run_id)
        rig.scaling.requeue(session, by, run, 2, rig.clock.now())

    rig.do(work)


def test_a_lead_starts_it_again_for_its_owner(rig: Rig) -> None:
    run_id = submit(rig)
    requeue(rig, run_id)
    rig.policy = settings(service_account="trainer")
    rig.pass_time(minutes=2)
    assert rig.notes(run_id)["again"] == f"Started again as wide#2. {ACCOUNT}"
    second = rig.do(lambda s: rig.service.find(s, "team-a", Reference("wide")))
    assert (second.reference, second.person, second.phase) == ("wide#2", ALICE, RunPhase.RUNNING)
    job = rig.job(second.id)
    assert job["metadata"]["labels"]["quartermaster.dev/person"] == ALICE
    rig.stop(second.id)
    rig.pass_time(minutes=2)
    assert rig.notes(second.id)["ended"].startswith(f"<@{ALICE}> wide#2 was stopped by Alice")


def test_runs_of_former_members_become_the_leads(rig: Rig) -> None:
    run_id = submit(rig)
    requeue(rig, run_id)
    rig.policy = settings(members={"people": []})
    rig.pass_time(minutes=2)
    second = rig.do(lambda s: rig.service.find(s, "team-a", Reference("wide")))
    assert (second.reference, second.person) == ("wide#2", ERIN)


def test_the_settings_of_today_hold(rig: Rig) -> None:
    ended(rig, pull_secrets=["old-registry"])
    rig.policy = settings(pull_secrets=["new-registry"], service_account="trainer")
    started = again(rig)
    assert started.warnings[:2] == (ACCOUNT, SECRETS)
    rig.run()
    pod = rig.job(started.run_id)["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == "trainer"
    assert pod["imagePullSecrets"] == [{"name": "new-registry"}]


def test_gpus_are_requested_as_of_today(rig: Rig) -> None:
    run_id = ended(rig)
    old = {"gpu_resource": "amd.com/gpu", "gpu_requests": {"amd.com/gpu": "2"}}
    before = rig.get(run_id).spec
    rig.do(lambda s: setattr(rig.service.get(s, run_id), "spec", before | old))
    started = again(rig)
    assert started.warnings == ("It now requests nvidia.com/gpu; before, amd.com/gpu.",)
    rig.run()
    (container,) = rig.job(started.run_id)["spec"]["template"]["spec"]["containers"]
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "2"


def test_nothing_is_said_where_nothing_differs(rig: Rig) -> None:
    ended(rig, pull_secrets=["registry"], service_account="trainer")
    assert again(rig).warnings == ()


def test_a_resubmission_by_another_is_theirs(rig: Rig) -> None:
    ended(rig)
    assert rig.get(again(rig, ERIN).run_id).person == ERIN


@pytest.mark.parametrize("person", [BOB])
def test_strangers_start_nothing_again(rig: Rig, person: str) -> None:
    run_id = submit(rig)
    by = rig.caller(person)
    with pytest.raises(Exception, match="belongs to"):
        rig.do(lambda s: rig.scaling.requeue(s, by, rig.service.get(s, run_id), 2, rig.clock.now()))
