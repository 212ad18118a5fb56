"""What people may want of runs, and what they are told when they may not."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlmodel import select

from bot.audit import AuditLine, lines_about
from bot.config import Limits, Settings
from bot.errors import QuartermasterError
from bot.reconcile.due import Due
from bot.slack.grammar.container_parameters import EnvironmentVariable, SecretReference, VolumeMount
from bot.slack.grammar.parameters import Reference
from bot.slack.messages import Message
from bot.training.service import TrainingService
from bot.training.spec import SHM_PATH
from bot.training.tables import RunPhase
from tests.bot.ground import ALICE, BOB, CAROL, ERIN, START
from tests.bot.training.rig import IMAGE, Rig, settings

TOKEN = "ghp_" + "0123456789abcdef0123"


def said(error: pytest.ExceptionInfo[QuartermasterError]) -> tuple[str, str, str]:
    return type(error.value).__name__, error.value.message, error.value.hint


def refused(work: Callable[[], object]) -> tuple[str, str, str]:
    with pytest.raises(QuartermasterError) as error:
        work()
    return said(error)


def test_a_submission_is_recorded_as_a_whole(rig: Rig) -> None:
    run_id = rig.submit(env=(EnvironmentVariable("BATCH_SIZE", "33"),))
    run = rig.get(run_id)
    message, wakeup = rig.do(
        lambda session: (session.scalars(select(Message)).one(), session.scalars(select(Due)).one())
    )
    audit = rig.do(lambda session: lines_about(session, run_id))
    assert (run.name, run.number, run.phase, run.person) == ("lane", 1, RunPhase.ASKED, ALICE)
    assert run.job_name == f"lane-{run_id[-10:]}"
    assert (message.subject_kind, message.subject_id, message.live) == ("run", run_id, True)
    assert (wakeup.kind, wakeup.id, wakeup.lane) == ("run", run_id, "cluster:default")
    assert [(line.verb, line.person, line.facts) for line in audit] == [
        (
            "run.submit",
            ALICE,
            {
                "name": "lane",
                "image": IMAGE,
                "command": "python train.py --epochs 3",
                "gpus": "2",
                "cpu": "16",
                "memory": "144Gi",
                "env": "BATCH_SIZE",
            },
        )
    ]


def test_defaults_are_filled_in_per_gpu(rig: Rig) -> None:
    def amounts(**asked: Any) -> tuple[str, str, str]:
        spec = rig.get(rig.submit(f"r{len(asked)}", **asked)).spec
        return spec["cpu"], spec["memory"], spec["shm"]

    assert [
        amounts(gpus=2),
        amounts(gpus=0, env=()),
        amounts(gpus=1, cpu="3", memory="10Gi", shm="2Gi"),
    ] == [("16", "128Gi", "16Gi"), ("4", "16Gi", "0Gi"), ("3", "10Gi", "2Gi")]


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (
            {"env": (EnvironmentVariable("WANDB_API_KEY", "abcdef"),)},
            (
                "UsageError",
                "`--env WANDB_API_KEY=...` looks like a secret. It was not stored.",
                (
                    "Put it into a Secret in the team's namespace and refer to it:"
                    " `--secret WANDB_API_KEY=my-secret/wandb-api-key`."
                ),
            ),
        ),
        (
            {"command": ("python", "train.py", f"--auth={TOKEN}")},
            (
                "UsageError",
                ("What follows `--auth` in the command looks like a secret. It was not stored."),
                (
                    "Put it into a Secret in the team's namespace, refer to it with"
                    " `--secret NAME=secret/key`, and let the program read the variable NAME."
                ),
            ),
        ),
        (
            {
                "env": (EnvironmentVariable("A", "1"),),
                "secret": (SecretReference("A", "wandb", "token"),),
            },
            (
                "UsageError",
                "The variable A is given twice.",
                "Give it once, as `--env` or `--secret`.",
            ),
        ),
        (
            {"pvc": (VolumeMount("data", f"{SHM_PATH}/", read_only=False),)},
            (
                "UsageError",
                f"{SHM_PATH} would be mounted twice.",
                "Give each volume its own path: `--pvc claim:/data`.",
            ),
        ),
        (
            {"gpus": 65},
            (
                "LimitError",
                "65 GPUs exceed the limit of team-a for one run: 64.",
                "Use `--gpus 64` or fewer, or ask an admin for a higher limit.",
            ),
        ),
        (
            {"priority": "hgih"},
            (
                "UsageError",
                "The cluster has no priority class hgih.",
                "It has: high, interactive, low.",
            ),
        ),
    ],
)
def test_what_cannot_run_is_refused(
    rig: Rig, asked: dict[str, Any], answer: tuple[str, str, str]
) -> None:
    assert refused(lambda: rig.submit(**asked)) == answer
    assert rig.do(lambda session: session.scalars(select(AuditLine)).all()) == []


def test_a_limit_of_time_asks_for_one(rig: Rig) -> None:
    rig.policy = settings(limits=Limits(time=timedelta(hours=8)).model_dump())
    assert [
        refused(rig.submit),
        refused(lambda: rig.submit(time=timedelta(hours=9))),
    ] == [
        (
            "LimitError",
            "Runs of team-a need a time limit of at most 8h.",
            "Add `--time 8h` or less.",
        ),
        (
            "LimitError",
            "9h exceeds the time limit for runs of team-a: 8h.",
            "Use `--time 8h` or less.",
        ),
    ]


def test_a_team_has_a_number_of_live_runs(rig: Rig) -> None:
    rig.policy = settings(limits={"live_runs": 1})
    rig.submit()
    assert refused(lambda: rig.submit("other")) == (
        "LimitError",
        "team-a has 1 live runs; its limit is 1.",
        "Wait until some end, or stop some: `/train list` shows them.",
    )


def test_a_live_name_is_not_taken_twice(rig: Rig) -> None:
    rig.submit()
    rig.run()
    expected = (
        "NameTakenError",
        "lane has not ended, and live runs of a team must have different names.",
        "Wait until it ends, stop it with `/train stop lane`, or choose another name.",
    )
    assert [refused(rig.submit), refused(lambda: rig.resubmit("lane"))] == [expected, expected]


def test_a_queue_that_is_missing_is_told(rig: Rig) -> None:
    rig.policy = settings(local_queue="elsewhere")
    assert refused(rig.submit) == (
        "ConflictError",
        "There is no LocalQueue elsewhere in namespace team-a.",
        "A platform admin has to create it or correct `local_queue` in quartermaster.yaml.",
    )


def test_an_uncovered_resource_is_told_before(rig: Rig) -> None:
    raw = rig.policy.model_dump() | {"quotas": {"resource": "amd.com/gpu"}}
    rig.policy = Settings.model_validate(raw)
    assert refused(rig.submit) == (
        "ConflictError",
        "ClusterQueue team-a does not cover amd.com/gpu, so Kueue would never admit this run.",
        (
            "A platform admin has to add it to the queue's coveredResources or, if Kueue ignores"
            " it, to `excluded_resources` in quartermaster.yaml."
        ),
    )


def test_runs_are_found_by_name_and_number(rig: Rig) -> None:
    first = rig.submit()
    rig.stop(first)
    rig.run()
    second = rig.submit()

    def found(name: str, number: int | None = None) -> str:
        return rig.do(lambda s: rig.service.find(s, "team-a", Reference(name, number)).id)

    assert [found("lane"), found("lane", 1), found("lane", 2)] == [second, first, second]
    assert rig.get(second).reference == "lane#2"
    assert [refused(lambda: found("lane", 3)), refused(lambda: found("lnae"))] == [
        (
            "NotFoundError",
            "team-a has no run lane#3: the newest is lane#2.",
            "`/train show lane#2` shows it.",
        ),
        ("NotFoundError", "team-a has no run lnae.", "It has: lane."),
    ]


def test_only_owner_and_heads_may_stop(rig: Rig) -> None:
    rig.policy = settings(members={"people": [ALICE, BOB]})
    lane, other = rig.submit(), rig.submit("other")
    assert refused(lambda: rig.stop(lane, BOB)) == (
        "NotAllowedError",
        f"lane belongs to <@{ALICE}>.",
        "They can stop it, and so can a lead of the team or an admin.",
    )
    rig.stop(lane, ERIN)
    rig.stop(other, CAROL)
    assert [rig.get(each).stop_by for each in (lane, other)] == [ERIN, CAROL]


def test_what_has_ended_cannot_be_stopped(rig: Rig) -> None:
    run_id = rig.submit()
    rig.stop(run_id)
    rig.run()
    assert refused(lambda: rig.stop(run_id)) == (
        "ConflictError",
        "lane is not running: it was stopped.",
        "There is nothing to stop.",
    )


def test_quotas_may_stop_runs_by_job(rig: Rig) -> None:
    run_id = rig.submit()
    rig.run()
    uid = rig.get(run_id).job_uid
    assert uid is not None
    rig.do(lambda s: rig.service.stop_jobs(s, [uid, "other"], "Its override ended.", START))
    rig.pass_time(seconds=60)
    audit = rig.do(lambda session: lines_about(session, run_id))
    assert rig.notes(run_id)["ended"].splitlines()[0] == (
        f"<@{ALICE}> lane was stopped by Quartermaster before it started. Its override ended."
    )
    assert [(line.verb, line.person, line.facts) for line in audit[1:]] == [
        ("run.stop", None, {"name": "lane", "why": "Its override ended."})
    ]


def test_a_cluster_without_view_refuses_nothing(rig: Rig) -> None:
    service = TrainingService(rig.settings, lambda _: None, "x", rig.words, rig.run_snapshots)
    rig.service = service
    assert rig.get(rig.submit(priority="hgih")).phase == RunPhase.ASKED
    assert service.external_workloads("team-a") == []
