"""Runs from their beginning to their end, in a cluster over HTTP."""

from bot.training.logs.reads import LogRequest
from bot.training.tables import RunPhase
from playground.cluster.control.training import Training
from playground.cluster.story import cluster_queue, training_job
from tests.bot.ground import ALICE
from tests.bot.training.cards import card
from tests.bot.training.rig import Rig


def test_a_run_succeeds_with_its_figures(rig: Rig) -> None:
    run_id = rig.submit()
    rig.run()
    assert card(rig, run_id) == "▶️ lane · Creating\n  [Stop]"
    rig.pass_time(seconds=70)
    assert card(rig, run_id) == (
        "▶️ lane · Running for 1m 7s\n"
        "▰▰▰▱▱▱▱▱▱▱▱▱ 30 % · 0.9 of 3 epochs\n"
        "  Started    2026-11-21 12:00 UTC\n"
        "  Results    images/sec 808.7 · loss 1.501\n"
        "  Last line  `2026-11-21 12:01:47 epoch 1/3 step 360/400 loss 1.501 images/sec: 808.7`\n"
        "  [Logs] [Curves] [Stop]"
    )
    rig.pass_time(minutes=5)
    assert card(rig, run_id) == (
        "✅ lane · Succeeded in 3m 4s\n"
        "▰▰▰▰▰▰▰▰▰▰▰▰ 100 % · 3 of 3 epochs\n"
        "  Started    2026-11-21 12:00 UTC\n"
        "  Results    images/sec 820.5 · loss 0.504 · accuracy 0.832 · total images/sec 812.4\n"
        "  Last line  `2026-11-21 12:03:53 Total images/sec: 812.4`\n"
        "  [Logs] [Curves] [Resubmit]"
    )
    assert rig.notes(run_id) == {
        "admitted-1": "Admitted after 0s.",
        "ended": (
            f"<@{ALICE}> lane succeeded after 3m 4s. images/sec 820.5 · loss 0.504"
            " · accuracy 0.832 · total images/sec 812.4.\n"
            "More of the log: `/train logs lane`"
        ),
    }
    assert rig.effects() == ["create jobs"]


def test_a_failing_run_shows_its_last_lines(rig: Rig) -> None:
    rig.world.behaviours["lane"] = Training(fails_after=12, exit_code=3)
    run_id = rig.submit()
    rig.pass_time(minutes=10)
    notes = rig.notes(run_id)
    assert list(notes) == ["admitted-1", "attempt-1", "attempt-2", "ended"]
    assert notes["attempt-1"].splitlines()[0] == (
        "Attempt 1 of 3 failed. Its program ended with exit code 3. It is restarting."
    )
    said = notes["ended"].splitlines()
    assert said[0] == (
        f"<@{ALICE}> lane failed after 1m 12s. Its program ended with exit code 3."
        " This was attempt 3."
    )
    assert said[-5:] == [
        '2026-11-21 12:02:01   File "train.py", line 214, in &lt;module&gt;',
        "2026-11-21 12:02:01 RuntimeError: training stopped with exit code 3",
        "```",
        "Its last lines show what went wrong. Resubmit starts it again once that is fixed.",
        "More of the log: `/train logs lane`",
    ]
    assert card(rig, run_id).splitlines()[:3] == [
        "❌ lane · Failed after 1m 12s",
        "▱▱▱▱▱▱▱▱▱▱▱▱ 3 % · 0.1 of 3 epochs",
        "Its program ended with exit code 3. This was attempt 3.",
    ]


def test_a_waiting_run_says_what_for(rig: Rig) -> None:
    theirs = training_job("theirs", 8, "team-b", epochs=20, activeDeadlineSeconds=3600)
    rig.world.create("jobs", theirs, "team-b")
    run_id = rig.submit(gpus=6)
    rig.pass_time(seconds=2)
    big = rig.submit("big", gpus=20)
    rig.pass_time(seconds=20)
    assert card(rig, run_id) == (
        "⏳ lane · Pending\n"
        "Waiting since 2026-11-21 12:00 UTC.\n"
        "It is waiting for 6 GPUs of h100; 4 can be used now: team-a uses 0 of its nominal quota of"
        " 4, and 0 can be borrowed.\n"
        "It is number 1 in its queue.\n"
        "Other teams: team-b uses 8 of its 8.\n"
        "It starts when other runs end, or sooner with more quota:"
        ' `/quota request +2 --for 1d --reason "..."`.\n'
        "Based on the time limits of running workloads, it starts 2026-11-21 13:00 UTC at the"
        " latest.\n  [Stop]"
    )
    assert card(rig, big) == (
        "⏳ big · Pending\n"
        "Waiting since 2026-11-21 12:00 UTC.\n"
        "It is waiting for 20 GPUs of h100, more than team-a can ever have: a nominal quota of 4,"
        " and at most 8 borrowed.\n"
        "It is number 2 in its queue; workloads ahead of it request 6 GPUs.\n"
        "Other teams: team-b uses 8 of its 8.\n"
        'It can start only with more quota: `/quota request +8 --for 1d --reason "..."`. Or submit'
        " it with `--gpus 12` or fewer.\n"
        "  [Stop]"
    )


def test_a_waiting_run_counts_all_its_nodes(rig: Rig) -> None:
    theirs = training_job("theirs", 8, "team-b", epochs=20)
    rig.world.create("jobs", theirs, "team-b")
    rig.pass_time(seconds=2)
    wide = rig.submit("wide", kind="sync", nodes=3, gpus=2)
    big = rig.submit("big", kind="sync", nodes=4, gpus=4)
    rig.pass_time(seconds=20)
    said = "It is waiting for 6 GPUs of h100; 4 can be used now: team-a uses 0 of its nominal quota"
    assert said in rig.card(wide)
    assert "It is waiting for 16 GPUs of h100, more than team-a can ever have" in rig.card(big)
    assert "Or submit it with fewer nodes, or fewer GPUs per node: 12 in total." in rig.card(big)


def test_without_any_quota_no_fewer_gpus_are_offered(rig: Rig) -> None:
    for team in ("team-a", "team-b"):
        rig.world.patch("clusterqueues", team, {"spec": cluster_queue(team, "0")["spec"]})
    run_id = rig.submit(gpus=2)
    rig.pass_time(seconds=20)
    assert (
        "It is waiting for 2 GPUs of h100, more than team-a can ever have: a nominal quota of 0,"
        " and at most 0 borrowed.\nIt is number 1 in its queue.\n"
        'It can start only with more quota: `/quota request +2 --for 1d --reason "..."`.\n  [Stop]'
    ) in card(rig, run_id)


def test_more_quota_lets_a_waiting_run_start(rig: Rig) -> None:
    rig.world.create("jobs", training_job("theirs", 8, "team-b", epochs=90), "team-b")
    run_id = rig.submit(gpus=6)
    rig.pass_time(seconds=20)
    rig.world.set_quota("team-a", "6")
    rig.pass_time(seconds=20)
    assert rig.get(run_id).phase == RunPhase.RUNNING
    assert rig.notes(run_id) == {"admitted-1": "Admitted after 20s."}
    assert rig.get(run_id).reason == ""


def test_a_preempted_run_waits_and_starts_again(rig: Rig) -> None:
    run_id = rig.submit(gpus=6)
    rig.pass_time(seconds=70)
    rig.world.create("jobs", training_job("theirs", 8, "team-b", epochs=2), "team-b")
    rig.pass_time(seconds=10)
    assert card(rig, run_id).splitlines()[:4] == [
        "⏳ lane · Preempted, waiting again",
        "Waiting since 2026-11-21 12:01 UTC.",
        (
            "Its GPUs were borrowed, and the team they belong to needed them back. They went to Job"
            " theirs of team-b. It is waiting for 6 GPUs of h100; 4 can be used now: team-a uses 0"
            " of its nominal quota of 4, and 0 can be borrowed."
        ),
        "It restarts automatically when GPUs are available for it.",
    ]
    assert rig.notes(run_id)["preempted-1"] == (
        "<@U0ALICE> lane was preempted. Its GPUs were borrowed, and the team they belong to needed"
        " them back. They went to Job theirs of team-b. It waits in its queue again and restarts"
        " from its last checkpoint, if it wrote one. Its output is kept: `/train logs lane`"
    )
    kept = rig.reads.log_tail(rig.get(run_id), LogRequest(1))
    assert kept.lines == (
        "2026-11-21 12:01:53 epoch 1/3 finished, accuracy 0.535, checkpoint saved",
    )
    rig.pass_time(minutes=10)
    assert rig.get(run_id).phase == RunPhase.SUCCEEDED
    assert list(rig.notes(run_id)) == ["admitted-1", "preempted-1", "admitted-2", "ended"]


def test_a_stopped_run_keeps_its_words(rig: Rig) -> None:
    run_id = rig.submit()
    rig.pass_time(seconds=45)
    rig.stop(run_id)
    rig.stop(run_id)
    assert card(rig, run_id).splitlines()[0] == "▶️ lane · Stopping"
    rig.pass_time(seconds=60)
    assert card(rig, run_id) == (
        "⏹️ lane · Stopped after 44s\n"
        "▰▰▱▱▱▱▱▱▱▱▱▱ 20 % · 0.6 of 3 epochs\n"
        "Stopped by Alice, 2026-11-21 12:01 UTC.\n"
        "  Started    2026-11-21 12:00 UTC\n"
        "  Results    images/sec 814.9 · loss 1.729\n"
        "  Last line  `2026-11-21 12:01:29 epoch 1/3 step 240/400 loss 1.729 images/sec: 814.9`\n"
        "  [Logs] [Curves] [Resubmit]"
    )
    assert rig.notes(run_id)["ended"] == (
        f"<@{ALICE}> lane was stopped by Alice after 44s.\nMore of the log: `/train logs lane`"
    )
    assert rig.effects() == ["create jobs", "delete jobs"]
    assert rig.job(run_id) is None


def test_a_run_stopped_at_once_leaves_nothing(rig: Rig) -> None:
    run_id = rig.submit()
    rig.stop(run_id)
    rig.run()
    assert (rig.get(run_id).phase, rig.effects()) == (RunPhase.STOPPED, [])
    assert rig.notes(run_id) == {
        "ended": f"<@{ALICE}> lane was stopped by Alice before it started."
    }


def test_a_run_can_be_submitted_again(rig: Rig) -> None:
    first = rig.submit()
    rig.stop(first)
    rig.run()
    second = rig.resubmit("lane")
    rig.pass_time(minutes=5)
    assert (rig.get(second).spec, rig.get(second).phase) == (rig.get(first).spec, "succeeded")
    assert rig.notes(second)["ended"].startswith(f"<@{ALICE}> lane#2 succeeded after 3m 4s.")


def test_a_renewed_workload_is_admitted_once(rig: Rig) -> None:
    run_id = rig.submit()
    rig.run()
    lose_admission(rig)
    assert card(rig, run_id).startswith("⏳ lane · Pending")
    wake_kueue(rig)
    rig.pass_time(seconds=20)
    assert card(rig, run_id).startswith("▶️ lane · Running for 17s")
    assert rig.notes(run_id) == {"admitted-1": "Admitted after 0s."}


def test_a_later_admission_is_told_again(rig: Rig) -> None:
    run_id = rig.submit()
    rig.run()
    lose_admission(rig)
    for team in ("team-a", "team-b"):
        rig.world.set_quota(team, "0")
    wake_kueue(rig)
    rig.pass_time(minutes=2)
    rig.world.set_quota("team-a", "4")
    rig.pass_time(seconds=20)
    assert rig.notes(run_id) == {
        "admitted-1": "Admitted after 0s.",
        "admitted-2": "Admitted after 2m 3s.",
    }


def lose_admission(rig: Rig) -> None:
    """Kueue replaces the Workload of a run, and does no more until it is switched on again."""
    rig.world.switch_kueue(on=False)
    (workload,) = rig.world.list("workloads")
    (job,) = rig.world.list("jobs")
    rig.world.patch("jobs", job["metadata"]["name"], {"spec": {"suspend": True}}, "team-a")
    name = workload["metadata"]["name"]
    rig.world.patch("workloads", name, {"metadata": {"finalizers": None}}, "team-a")
    rig.world.delete("workloads", name, "team-a")
    rig.pass_time(seconds=3)


def wake_kueue(rig: Rig) -> None:
    """Kueue works again; a change makes it look at the run's Job."""
    rig.world.switch_kueue(on=True)
    (job,) = rig.world.list("jobs")
    change = {"metadata": {"annotations": {"example.com/changed": "yes"}}}
    rig.world.patch("jobs", job["metadata"]["name"], change, "team-a")
