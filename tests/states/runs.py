"""States of the cards of runs, sessions, followed logs and external workloads."""

from collections.abc import Iterator
from typing import Any

from bot.cluster.types.objects import Condition, Terminated
from bot.training import mishaps
from bot.training.follows.card import FORBIDDEN
from bot.training.follows.controller import ENDED, LASTED
from bot.training.runs.decide import TIME_IS_UP, taken, vanished
from bot.training.series.tables import RunSeries
from bot.training.spec import RunSpec
from bot.training.tables import LogFollow, Removal, Run, RunIntent, RunPhase
from bot.training.templates.candidates import Candidate
from bot.training.templates.wording import unreachable_words
from tests.handlers.command_client import BOB, ERIN
from tests.states.state import DAY, HOUR, ID, MINUTE, NOW, SILENT, State, card, usual

SPEC: dict[str, Any] = {
    "image": "ghcr.io/acme/lane:3.1",
    "command": ["python", "train.py", "--epochs", "90"],
    "cpu": "16",
    "memory": "128Gi",
    "gpus": "2",
    "shm": "16Gi",
}
MANY = SPEC | {"gpus": "8", "nodes": 2, "kind": "mpi", "processes": 8}
ELASTIC = SPEC | {"gpus": "8", "nodes": 4, "kind": "elastic", "nodes_range": [2, 6]}
SESSION = SPEC | {"gpus": "1", "kind": "interactive", "session_seconds": 28_800,
                  "longest_seconds": 86_400, "port": 8888}  # fmt: skip
EPOCHS = {"done": 36.0, "total": 90.0, "unit": "epochs"}
PREEMPTED = "Its GPUs were borrowed, and the team they belong to needed them back."
HOLDERS = "Other teams: team-b uses 8 of its 8."
WAITS = (
    "It is waiting for 2 GPUs of h100; 0 can be used now: team-a uses 4 of its nominal quota of 4,"
    " and 0 can be borrowed."
)
MORE = (
    "It starts when other runs end, or sooner with more quota:"
    ' `/quota request +2 --for 1d --reason "..."`.'
)


def run(**more: Any) -> Run:
    """A run that was submitted 20 minutes ago."""
    spec = SPEC | more.pop("spec", {})
    asked = NOW - 20 * MINUTE
    fields = usual(name="lane", number=1, queue="team-a", job_name="lane-4c81d2e7", spec=spec,
                   asked_at=asked, since=asked)  # fmt: skip
    return Run(**(fields | more))


def running(**more: Any) -> Run:
    """A run that has been running for 90 minutes."""
    begun = NOW - 90 * MINUTE
    fields = {"phase": RunPhase.RUNNING, "asked_at": begun - 10 * MINUTE, "since": begun,
              "started_at": begun, "nodes": ["gpu-1"], "ran_on": ["gpu-1"]}  # fmt: skip
    return run(**(fields | more))


def ended(phase: RunPhase, why: mishaps.FailureReason = mishaps.FINE, **more: Any) -> Run:
    """A run that ended a quarter of an hour ago."""
    begun, end = NOW - 6 * HOUR, NOW - 15 * MINUTE
    fields = {
        "phase": phase, "since": end, "started_at": begun, "ended_at": end,
        "asked_at": begun - 10 * MINUTE, "reason": why.said, "unblock": why.advice,
    }  # fmt: skip
    return run(**(fields | more))


def states() -> Iterator[State]:
    """All of them."""
    yield from _waiting()
    yield from _after_others()
    yield from _on_templates()
    yield from _running()
    yield from _ended()
    yield from _sessions()
    yield from _follows()
    yield from _removals()


def _waiting() -> Iterator[State]:
    yield card("run-submitted", run())
    yield card(
        "run-not-created",
        run(trouble=SILENT, is_late=True),
    )
    filling = "Its data chest-xray@v3 is being copied to standard: 120 GB of 250 GB, about 9m left."
    data = [{"reference": "chest-xray@v3", "path": "/data", "digest": "sha256:" + 64 * "a"}]
    yield card(
        "run-waiting-for-data", run(phase=RunPhase.DATA, reason=filling, spec={"data": data})
    )
    waits = {"phase": RunPhase.PENDING, "reason": WAITS, "unblock": MORE, "holders": HOLDERS}
    later = NOW + 3 * HOUR
    yield card("run-waiting", run(**waits, place=2, gpus_ahead=8, starts_by=later))
    pinned = {"gpu_type": "h100", "time_limit_seconds": 14_400}
    yield card(
        "run-waiting-late",
        run(**waits, asked_at=NOW - DAY - HOUR, since=NOW - DAY - HOUR, is_late=True, spec=pinned),
    )
    yield card(
        "run-preempted",
        run(phase=RunPhase.PREEMPTED, reason=PREEMPTED, place=1, asked_at=NOW - 4 * HOUR,
            started_at=NOW - 3 * HOUR, since=NOW - 4 * MINUTE, preemptions=1, admissions=1),
    )  # fmt: skip
    yield card("run-creating", run(phase=RunPhase.CREATING, since=NOW - MINUTE))
    no_node = mishaps.of_scheduling(
        Condition(message="0/2 nodes are available: 2 Insufficient nvidia.com/gpu.")
    )
    yield card(
        "run-creating-blocked",
        run(phase=RunPhase.CREATING, obstacle=no_node.said, unblock=no_node.advice, is_late=True),
    )


def _after_others() -> Iterator[State]:
    after = {"after": [{"run": "prep", "run_id": "prep"}]}
    held = "It waits for run prep (running) to succeed."
    prep: dict[str, Any] = {"id": "prep", "name": "prep", "job_name": "prep-0f3a91c2"}
    waiting = run(phase=RunPhase.AFTER, reason=held, spec=after)
    yield card("run-waiting-for-runs", waiting, running(**prep))
    lost = mishaps.FailureReason(
        "Run prep, which it waited for, has failed.",
        "`/train resubmit prep` starts prep again; after that, `/train resubmit lane` waits for"
        " it.",
    )
    yield card(
        "run-stopped-after-another-failed",
        ended(RunPhase.STOPPED, lost, spec=after, started_at=None),
        ended(RunPhase.FAILED, **prep),
    )


def _on_templates() -> Iterator[State]:
    places = [
        {"template": "dgx", "cluster": "default", "queue": "team-a", "after_seconds": 1800,
         "price": "4.00 USD an hour", "spec": SPEC},
        {"template": "burst", "cluster": "aks", "queue": "burst", "after_seconds": 1800,
         "price": "9.00 USD an hour", "spec": SPEC},
    ]  # fmt: skip
    waits = {"phase": RunPhase.PENDING, "reason": WAITS, "unblock": MORE, "candidates": places,
             "made_at": NOW - 20 * MINUTE}  # fmt: skip
    next_one = Candidate(
        template="burst", cluster="aks", queue="burst", after_seconds=1800, spec=RunSpec(**SPEC)
    )
    yield card("run-waiting-on-template", run(**waits, place=2))
    yield card("run-waiting-for-next-cluster", run(**waits, obstacle=unreachable_words(next_one)))
    yield card("run-waiting-in-silent-cluster", run(**waits, trouble=SILENT))
    yield card("run-leaving-template", run(**waits, moving_to=1))
    moved = {**waits, "reason": "KAI has not processed it yet.", "unblock": "", "made_at": NOW}
    yield card("run-moved", run(**moved, cluster="aks", candidate=1, since=NOW - MINUTE))


def _running() -> Iterator[State]:
    yield card("run-running", running(started_at=NOW - MINUTE, since=NOW - MINUTE))
    found = {"loss": "0.231", "accuracy": "0.914"}
    said = "epoch 36/90 loss=0.231 accuracy=0.914 1412 img/s"
    wandb = {"W&B": "https://wandb.ai/acme/runs/2k7"}
    mounts = [["imagenet", "/data", True]]
    volumes = [{"storage_class": "standard", "size": "100Gi", "path": "/scratch"}]
    more = {"mounts": mounts, "volumes": volumes, "code": "acme/lane@3f2a9c1",
            "time_limit_seconds": 28_800}  # fmt: skip
    yield card(
        "run-running-with-results",
        running(spec=more, progress=EPOCHS, results=found, last_line=said, links=wandb),
        RunSeries(run_id=ID, name="loss", place=0, count=1),
    )
    yield card("run-running-on-nodes", running(spec=MANY, nodes=["gpu-1", "gpu-2"]))
    yield card("run-running-elastic", running(spec=ELASTIC, size=4, pods_running=3, pods_waiting=1))
    refused = (
        "This Kueue cannot change the number of nodes of a run while it runs: its feature gate"
        " ElasticJobsViaWorkloadSlices, on from Kueue 0.18, is off."
    )
    yield card(
        "run-scaling-refused",
        running(spec=ELASTIC, size=4, scale_to=6, unscaled_to=6, unscaled_why=refused,
                pods_running=4),
    )  # fmt: skip
    node = mishaps.of_node("gpu-1", is_gone=False)
    yield card("run-node-lost", running(obstacle=node.said, unblock=node.advice))
    yield card("run-gpus-idle", running(idle_since=NOW - 2 * HOUR, progress=EPOCHS))
    stopped = {"wanted": RunIntent.STOP, "stop_by": ERIN, "stop_at": NOW - MINUTE}
    yield card("run-stopping", running(**stopped, progress=EPOCHS))
    yield card("run-stopping-late", running(**stopped, is_late=True))


def _ended() -> Iterator[State]:
    results = {"loss": "0.198", "accuracy": "0.931"}
    done = {"done": 90.0, "total": 90.0, "unit": "epochs"}
    good = ended(RunPhase.SUCCEEDED, results=results, progress=done, last_line="saved best.pt")
    yield card("run-succeeded", good)
    memory = mishaps.of_end(Terminated(exit_code=137, reason="OOMKilled"), "144Gi")
    part: dict[str, Any] = {"progress": EPOCHS, "results": {"loss": "0.231"}}
    yield card("run-failed-out-of-memory", ended(RunPhase.FAILED, memory, **part))
    plain = mishaps.of_end(Terminated(exit_code=1))
    last = "RuntimeError: CUDA error: device-side assert triggered"
    yield card("run-failed-exit-code", ended(RunPhase.FAILED, plain, last_line=last))
    limit = mishaps.of_deadline(14_400)
    timed = {"time_limit_seconds": 14_400}
    yield card("run-failed-time-limit", ended(RunPhase.FAILED, limit, spec=timed))
    unborn = run()
    reason = taken(unborn, "Job", unborn.job_name)
    yield card(
        "run-failed-before-start",
        ended(RunPhase.FAILED, mishaps.FailureReason(reason), started_at=None),
    )
    by: dict[str, Any] = {"stop_by": ERIN, "stop_at": NOW - 16 * MINUTE, "wanted": RunIntent.STOP}
    yield card("run-stopped", ended(RunPhase.STOPPED, **by, progress=EPOCHS))
    yield card("run-stopped-by-the-bot", ended(RunPhase.STOPPED, mishaps.FailureReason(
        "Its GPUs were idle for 4h."), **(by | {"stop_by": None})))  # fmt: skip
    gone = mishaps.FailureReason(vanished(ended(RunPhase.VANISHED)))
    yield card("run-deleted-outside", ended(RunPhase.VANISHED, gone))
    unmanaged = (
        "Kueue does not manage Jobs here, so none was created. A platform admin has to enable the"
        " integration batch/job in Kueue's configuration."
    )
    yield card(
        "run-unmanaged",
        ended(
            RunPhase.UNMANAGED,
            mishaps.FailureReason(unmanaged),
            started_at=None,
        ),
    )


def _sessions() -> Iterator[State]:
    session = {"spec": SESSION, "name": "notebook", "job_name": "notebook-4c81d2e7"}
    waits = {"phase": RunPhase.PENDING, "reason": WAITS, "unblock": MORE}
    yield card("session-waiting", run(**session, **waits))
    yield card("session-running", running(**session, until=NOW + 390 * MINUTE))
    yield card(
        "session-preempted",
        run(**session, phase=RunPhase.PREEMPTED, seconds_used=5_400, seconds_left=23_400,
            reason=PREEMPTED, asked_at=NOW - 3 * HOUR,
            started_at=NOW - 2 * HOUR, since=NOW - 4 * MINUTE),
    )  # fmt: skip
    yield card("session-idle", running(**session, until=NOW + HOUR, idle_since=NOW - HOUR))
    yield card(
        "session-expired", ended(RunPhase.EXPIRED, mishaps.FailureReason(TIME_IS_UP), **session)
    )


def _follows() -> Iterator[State]:
    def follow(**more: Any) -> LogFollow:
        fields = usual(run_id=ID, lines=20, begun_at=NOW - MINUTE, until=NOW + 10 * MINUTE)
        shown = ["epoch 35/90 loss=0.244", "epoch 36/90 loss=0.231"]
        fields |= {"shown_pod": "lane-4c81d2e7-0-x7k2p", "shown": shown}
        return LogFollow(**(fields | more))

    yield card("log-followed", follow(), running())
    yield card("log-without-output", follow(shown=[]), running())
    yield card("log-before-pod", follow(shown_pod="", shown=[]), run(phase=RunPhase.PENDING))
    trouble = "the cluster default did not answer within 10 s. Retrying."
    yield card("log-unreadable", follow(trouble=trouble), running())
    over = {"ended_at": NOW, "reason": LASTED}
    yield card("log-no-longer-followed", follow(**over), running())
    ends = {"ended_at": NOW, "reason": ENDED, "kept_at": NOW - 15 * MINUTE}
    yield card("log-of-ended-run", follow(**ends), ended(RunPhase.SUCCEEDED))
    left = {"ended_at": NOW, "reason": FORBIDDEN, "shown": []}
    yield card("log-forbidden", follow(**left, person=BOB), running())


def _removals() -> Iterator[State]:
    def removal(**more: Any) -> Removal:
        fields = usual(job_name="by-hand", job_uid="uid", owner="alice", asked_at=NOW)
        return Removal(**(fields | more))

    yield card("removal-stopping", removal())
    yield card("removal-retrying", removal(trouble=SILENT))
    yield card("removal-stopped", removal(ended_at=NOW, outcome="Stopped"))
