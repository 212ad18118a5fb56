"""How sessions are entered, and by whom."""

from datetime import timedelta
from functools import partial

import pytest

from bot.slack.grammar.container_parameters import SecretReference
from bot.slack.text import as_text
from bot.training.runs.replies import opened
from bot.training.sessions.service import SessionService
from tests.bot.ground import ALICE, CAROL, ERIN, START
from tests.bot.training.rig import Rig, settings
from tests.bot.training.sessions.notebooks import (
    BESIDE,
    MADE,
    NOTEBOOK,
    begin,
    leap,
    refused,
    running,
    with_ingress,
)


@pytest.fixture
def rig(rig: Rig) -> Rig:
    """A cluster with a way in for browsers."""
    return with_ingress(rig)


def test_a_session_runs_with_its_service(rig: Rig) -> None:
    run_id = running(rig)
    run = rig.get(run_id)
    assert rig.effects() == MADE
    assert run.until == run.since + timedelta(hours=8)
    assert rig.card(run_id).splitlines() == [
        "▶️ nb · Running for 27s",
        f"  Image      `{NOTEBOOK}`",
        "  Kind       interactive",
        "  GPUs       1",
        "  By         Alice",
        f"  Where      `team-a/{run.job_name}`",
        "  Submitted  2026-11-21 12:00 UTC",
        "  Started    2026-11-21 12:00 UTC",
        "  Time       8h, at most 1d",
        "  Ends       2026-11-21 20:00 UTC",
        "  [Open] [Logs] [Stop]",
    ]
    owners = [
        each["metadata"]["ownerReferences"][0]["uid"]
        for kind in BESIDE
        for each in rig.world.list(kind, "team-a")
        if "session-" in each["metadata"]["name"]
    ]
    assert owners == [run.job_uid] * 3


def test_it_is_opened_with_its_token(rig: Rig) -> None:
    run_id = running(rig)
    run = rig.get(run_id)
    pod = rig.world.list("pods", "team-a")[0]["metadata"]["name"]
    token = rig.reads.access(run).path.partition("token=")[2]
    assert len(token) == 43
    assert as_text(opened(run, rig.reads.access(run))).splitlines() == [
        f"Browser: https://ml.example.com/team-a/{run.job_name}/?token={token}",
        f"Shell: `kubectl exec -it -n team-a {pod} -- bash`",
        "Only you can see this. The address lets anyone in, so keep it private.",
    ]


def test_without_an_ingress_a_port_is_forwarded(rig: Rig) -> None:
    rig.policy = settings()
    run_id = running(rig)
    run, access = rig.get(run_id), rig.reads.access(rig.get(run_id))
    assert as_text(opened(run, access)).splitlines()[:2] == [
        (
            f"Run `kubectl port-forward -n team-a service/session-{run.job_name} 8888:80` and"
            " leave it running."
        ),
        f"Browser: http://localhost:8888{access.path}",
    ]
    assert rig.effects() == MADE[:3]


def test_sessions_below_a_wildcard_share_no_host(rig: Rig) -> None:
    with_ingress(rig, host="*.ml.example.com")
    found = []
    for name in ("one", "two"):
        run_id = rig.submit(name, image=NOTEBOOK, command=(), gpus=1, kind="interactive")
        rig.pass_time(minutes=2)
        run = rig.get(run_id)
        said = as_text(opened(run, rig.reads.access(run)))
        assert f"Browser: https://{run.job_name}.ml.example.com/team-a/{run.job_name}/" in said
        ingress = rig.world.get("ingresses", f"session-{run.job_name}", "team-a") or {}
        found += [rule["host"] for rule in ingress["spec"]["rules"]]
    assert len({*found}) == 2


def test_a_shell_has_a_line_alone(rig: Rig) -> None:
    run_id = running(rig, command=("sleep", "infinity"))
    run = rig.get(run_id)
    pod = rig.world.list("pods", "team-a")[0]["metadata"]["name"]
    said = as_text(opened(run, rig.reads.access(run)))
    assert said == f"Shell: `kubectl exec -it -n team-a {pod} -- bash`"
    assert rig.effects() == ["create jobs"]


def test_only_jupyter_is_opened_to_browsers(rig: Rig) -> None:
    running(rig, command=("tensorboard", "--logdir", "/data"), port=6006)
    assert rig.effects() == MADE[:3]


def test_the_token_is_written_nowhere(rig: Rig) -> None:
    run_id = running(rig)
    token = rig.reads.access(rig.get(run_id)).path.partition("token=")[2]
    leap(rig, START + timedelta(hours=7, minutes=40))
    leap(rig, START + timedelta(hours=9))
    kept = b"".join(path.read_bytes() for path in rig.outside.kubeconfig.parent.glob("*.db*"))
    assert run_id.encode() in kept
    assert token.encode() not in kept


def test_only_its_owner_may_open_it(rig: Rig) -> None:
    run_id = running(rig)
    sessions, run = SessionService(rig.words), rig.get(run_id)
    sessions.refuse_opening(rig.caller(ALICE), run)
    for other in (ERIN, CAROL):
        assert refused(partial(sessions.refuse_opening, rig.caller(other), run)) == (
            f"nb is a session of <@{ALICE}>. How to open it is shown only to its owner,"
            " because the address lets anyone in."
        )


def test_a_token_of_ones_own_is_refused(rig: Rig) -> None:
    own = (SecretReference("JUPYTER_TOKEN", "wandb", "token"),)
    assert refused(lambda: begin(rig, secret=own)) == (
        "`JUPYTER_TOKEN` is created for each session."
        " Leave it out. Open on the card shows you the address with it."
    )


def test_a_token_that_is_gone_is_said(rig: Rig) -> None:
    run_id = running(rig)
    name = f"session-{rig.get(run_id).job_name}"
    rig.world.delete("secrets", name, "team-a")
    assert refused(lambda: rig.reads.access(rig.get(run_id))) == (
        f"Secret {name} in namespace team-a has no token for the session."
        " Stop the session and start it again."
    )
