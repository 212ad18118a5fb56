"""Sweeps from the first run to the last: what is submitted when, shown and posted."""

from sqlmodel import col, select

from bot.notices import Notice, NoticeKind
from bot.slack.markup import plain
from bot.slack.messages import Message, ThreadMessage
from bot.training.tables import RunWatch
from bot.training.watches.notices import tell_watched
from playground.cluster.control.training import Training
from tests.bot.ground import ALICE, ERIN
from tests.bot.training.rig import Rig
from tests.bot.training.sweeps.sweeping import FASTEST, SIZES, phases, runs, shown, sweep, sweeps

FACTS = """\
  Image      `ghcr.io/acme/lane:3.1`
  GPUs       1 GPU for each cell
  At once    2 at most
  Best       max of images/sec, the last value in the log
  By         Alice
  Submitted  2026-11-21 12:00 UTC
"""
AGAIN = "Its cells are runs: `/train resubmit wide-1` starts one again."


def test_the_next_run_begins_as_one_ends(rig: Rig) -> None:
    sweep_id = sweeps(rig, at_most=2, **FASTEST)
    rig.pass_time(seconds=5)
    assert shown(rig, sweep_id) == (
        "▶️ Sweep wide · Running\n"
        "3 cells: 2 running, 1 not submitted yet.\n"
        "No images/sec was read from a log yet.\n"
        f"{FACTS}"
        "  Run     bs   State          images/sec  Ran\n"
        "  wide-1  32   Running                    2s\n"
        "  wide-2  64   Running                    2s\n"
        "  wide-3  128  Not submitted\n"
        "  [Compare] [Stop]\n"
        f"{AGAIN}"
    )
    rig.pass_time(minutes=4)
    assert phases(rig) == {"wide-1": "succeeded", "wide-2": "succeeded", "wide-3": "running"}
    rig.pass_time(minutes=30)
    assert shown(rig, sweep_id) == (
        "✅ Sweep wide · Ended\n"
        "3 cells: 3 succeeded.\n"
        "Best: `wide-2` with images/sec 909.5 (bs=64).\n"
        f"{FACTS}"
        "  Ended      2026-11-21 12:07 UTC\n"
        "  Run     bs   State      images/sec  Ran\n"
        "  wide-2  64   Succeeded  909.5       3m 4s\n"
        "  wide-3  128  Succeeded  707.0       3m 4s\n"
        "  wide-1  32   Succeeded  404.0       3m 4s\n"
        "  [Compare] [Curves]\n"
        f"{AGAIN}"
    )
    assert rig.effects() == ["create jobs"] * 3


def test_one_card_shows_all_its_runs(rig: Rig) -> None:
    sweep_id = sweeps(rig, **FASTEST)
    rig.pass_time(minutes=30)
    said = rig.do(
        lambda session: [
            (each.subject_kind, each.purpose, each.live)
            for each in session.scalars(select(Message))
        ]
    )
    assert said == [("sweep", "card", False), ("sweep", "ended", False)]
    assert rig.notes(sweep_id) == {
        "ended": (
            f"<@{ALICE}> Sweep wide has ended. 3 cells: 3 succeeded.\n"
            "Best: `wide-2` with images/sec 909.5 (bs=64).\n"
            "`/train compare wide` compares its runs."
        )
    }


def test_values_reach_commands_and_variables(rig: Rig) -> None:
    sweeps(rig)
    rig.pass_time(seconds=5)
    jobs = [rig.job(run.id)["spec"]["template"]["spec"]["containers"][0] for run in runs(rig)]
    assert [job["command"][-2:] for job in jobs] == [
        ["--bs", "32"],
        ["--bs", "64"],
        ["--bs", "128"],
    ]
    values = [each["value"] for job in jobs for each in job["env"] if each["name"] == "SWEEP_BS"]
    assert values == ["32", "64", "128"]


def test_who_watches_a_run_is_notified(rig: Rig) -> None:
    sweeps(rig)
    first = runs(rig)[0]
    at = rig.clock.now()
    both = [RunWatch(run_id=first.id, person=each, began_at=at) for each in (ALICE, ERIN)]
    rig.do(lambda session: session.add_all(both))
    rig.pass_time(minutes=30)
    ended = select(Message).where(col(Message.subject_id) == first.id)
    found = rig.do(lambda session: session.scalars(ended).all())
    assert {each.channel: each.purpose for each in found} == {
        ALICE: "watched-ended",
        ERIN: "watched-ended",
    }
    assert (found[0].content or [""])[0].startswith("Alice's run wide-1 succeeded after 3m 4s.")


def test_idle_gpus_of_a_run_are_mentioned(rig: Rig) -> None:
    sweeps(rig)
    first = runs(rig)[0]
    note = ThreadMessage("idle", (plain("wide-1: its GPUs have been idle."),))
    notice = Notice(NoticeKind.IDLE, ALICE, note)
    rig.do(lambda session: tell_watched(session, first, notice, rig.clock.now()))
    assert rig.notes(first.id) == {"idle": f"<@{ALICE}> wide-1: its GPUs have been idle."}


def test_the_smallest_value_can_be_best(rig: Rig) -> None:
    sweep_id = sweeps(rig, metric="images/sec", best="min")
    rig.pass_time(minutes=30)
    assert "Best: `wide-1` with images/sec 404.0 (bs=32)." in shown(rig, sweep_id)


def test_a_failed_run_is_never_the_best(rig: Rig) -> None:
    sweep_id = sweeps(rig, **FASTEST)
    rig.world.behaviours["--bs 64"] = Training(images_per_second=900.5, fails_after=100)
    rig.pass_time(minutes=60)
    table = shown(rig, sweep_id).splitlines()
    assert table[:3] == [
        "⚠️ Sweep wide · Ended",
        "3 cells: 2 succeeded, 1 failed.",
        "Best: `wide-3` with images/sec 707.0 (bs=128).",
    ]
    rows = [line.split() for line in table if line.startswith("  wide-")]
    assert [row[:3] for row in rows] == [
        ["wide-3", "128", "Succeeded"],
        ["wide-1", "32", "Succeeded"],
        ["wide-2", "64", "Failed"],
    ]


def test_a_sweep_without_successes_is_announced(rig: Rig) -> None:
    sweep_id = sweeps(rig, **FASTEST)
    for size in SIZES.values:
        rig.world.behaviours[f"--bs {size}"] = Training(fails_after=2)
    rig.pass_time(minutes=60)
    assert shown(rig, sweep_id).splitlines()[:3] == [
        "❌ Sweep wide · Ended",
        "3 cells: 3 failed.",
        "No images/sec was read from a log.",
    ]
    note = rig.do(lambda s: s.scalars(select(Message).where(Message.purpose == "ended")).one())
    assert note.broadcast
    assert sweep(rig, sweep_id).phase == "ended"
