"""What ends a sweep early, and what it waits for: rights, limits, names, stops, restarts."""

import pytest

from bot.config import Admission
from bot.errors import ConflictError, NotAllowedError
from bot.slack.blocks import card_blocks
from bot.slack.grammar.container_parameters import SweptParameter
from bot.slack.grammar.parameters import RunEndReference
from bot.training.sweeps.controller import SweepController
from bot.training.sweeps.record import SweepRecorder
from playground.cluster.control.training import Training
from tests.bot.ground import ALICE, BOB, CAROL, ERIN
from tests.bot.training.rig import Rig, settings
from tests.bot.training.sweeps.sweeping import (
    FASTEST,
    phases,
    runs,
    shown,
    shown_card,
    stops,
    sweep,
    sweeps,
)


def lines(rig: Rig, sweep_id: str, count: int) -> list[str]:
    return shown(rig, sweep_id).splitlines()[:count]


def test_a_stop_ends_runs_and_submits_none(rig: Rig) -> None:
    sweep_id = sweeps(rig, at_most=1)
    rig.pass_time(seconds=30)
    made = stops(rig, sweep_id)
    assert (made.stopping, made.left) == (1, ())
    assert lines(rig, sweep_id, 2) == [
        "▶️ Sweep wide · Stopping",
        "3 cells: 1 running, 2 not submitted.",
    ]
    assert "Stopped by Alice, 2026-11-21 12:0" in shown(rig, sweep_id)
    rig.pass_time(minutes=10)
    assert lines(rig, sweep_id, 2) == [
        "⏹️ Sweep wide · Stopped",
        "3 cells: 1 stopped, 2 not submitted.",
    ]
    assert runs(rig)[0].stop_why == "Its sweep wide was stopped."
    assert rig.notes(sweep_id)["ended"] == (
        f"<@{ALICE}> Sweep wide was stopped by Alice. 3 cells: 1 stopped, 2 not submitted."
    )
    with pytest.raises(ConflictError) as caught:
        stops(rig, sweep_id)
    assert caught.value.message == "Sweep wide has ended."


def test_a_sweep_of_another_is_for_leads(rig: Rig) -> None:
    sweep_id = sweeps(rig, person=ERIN)
    with pytest.raises(NotAllowedError) as caught:
        stops(rig, sweep_id, ALICE)
    assert caught.value.message == f"Sweep wide belongs to <@{ERIN}>."
    assert stops(rig, sweep_id, CAROL).stopping == 1
    rig.pass_time(minutes=1)
    assert sweep(rig, sweep_id).phase == "stopped"


def test_who_leaves_the_team_submits_no_more(rig: Rig) -> None:
    sweep_id = sweeps(rig, at_most=1)
    rig.pass_time(seconds=30)
    rig.policy = settings(members={"people": [BOB]})
    rig.pass_time(minutes=4)
    assert phases(rig) == {"wide-1": "succeeded"}
    assert lines(rig, sweep_id, 4) == [
        "⏹️ Sweep wide · Stopped",
        "3 cells: 1 succeeded, 2 not submitted.",
        "Alice may no longer submit runs of team-a.",
        "A member of the team can submit the rest.",
    ]
    assert rig.notes(sweep_id)["ended"].splitlines()[0] == (
        f"<@{ALICE}> Sweep wide was stopped by Quartermaster. 3 cells: 1 succeeded, 2 not"
        " submitted."
    )


def test_live_runs_go_on_after_a_refusal(rig: Rig) -> None:
    sweep_id = sweeps(rig, at_most=2)
    rig.world.behaviours["--bs 32"] = Training(epochs=1)
    rig.pass_time(seconds=30)
    rig.policy = settings(admission=Admission(images=("ghcr.io/acme/other:*",)))
    rig.pass_time(seconds=45)
    assert lines(rig, sweep_id, 5) == [
        "⚠️ Sweep wide · Stopping",
        "3 cells: 1 succeeded, 1 running, 1 not submitted.",
        "It submits no more runs; those that are live go on.",
        "wide-3 was refused: team-a may not run the image ghcr.io/acme/lane:3.1.",
        "It may run: `ghcr.io/acme/other:*`.",
    ]
    rig.pass_time(minutes=10)
    assert phases(rig) == {"wide-1": "succeeded", "wide-2": "succeeded"}
    assert sweep(rig, sweep_id).phase == "stopped"


def test_the_teams_limit_of_runs_is_awaited(rig: Rig) -> None:
    rig.policy = settings(limits={"live_runs": 2})
    sweep_id = sweeps(rig)
    rig.pass_time(seconds=30)
    assert lines(rig, sweep_id, 3) == [
        "⚠️ Sweep wide · Running",
        "3 cells: 2 running, 1 not submitted yet.",
        "team-a has 2 live runs; its limit is 2. Retrying every minute.",
    ]
    rig.pass_time(minutes=20)
    assert lines(rig, sweep_id, 2) == ["✅ Sweep wide · Ended", "3 cells: 3 succeeded."]


def test_a_taken_name_is_awaited(rig: Rig) -> None:
    sweep_id = sweeps(rig, at_most=1)
    other = rig.submit("wide-2", gpus=1)
    rig.pass_time(minutes=3, seconds=30)
    rig.pass_time(minutes=20)
    assert rig.get(other).number == 1
    assert phases(rig) == {
        "wide-1": "succeeded",
        "wide-2": "succeeded",
        "wide-2#2": "succeeded",
        "wide-3": "succeeded",
    }
    assert "  wide-2#2  64" in shown(rig, sweep_id)


def test_a_lost_predecessor_stops_the_sweep(rig: Rig) -> None:
    rig.world.behaviours["broken"] = Training(fails_after=2, exit_code=3)
    rig.submit("prep", image="ghcr.io/acme/broken:0.1")
    sweep_id = sweeps(rig, at_most=1, after=(RunEndReference().read("prep"),))
    rig.pass_time(minutes=20)
    assert lines(rig, sweep_id, 3) == [
        "⏹️ Sweep wide · Stopped",
        "3 cells: 1 stopped, 2 not submitted.",
        "Run prep, which its runs wait for, has failed.",
    ]


def test_a_cell_submitted_again_has_its_card(rig: Rig) -> None:
    sweep_id = sweeps(rig, **FASTEST)
    rig.pass_time(minutes=20)
    rig.world.behaviours["--bs 32"] = Training(images_per_second=2000)
    again = rig.resubmit("wide-1")
    rig.pass_time(seconds=5)
    assert "  wide-1#2  32   Running" in shown(rig, sweep_id)
    assert sweep(rig, sweep_id).phase == "ended"
    rig.pass_time(minutes=20)
    assert "Best: `wide-1#2` with images/sec 2020.0 (bs=32)." in shown(rig, sweep_id)
    assert list(rig.notes(again)) == ["admitted-1", "ended"]
    assert list(rig.notes(sweep_id)) == ["ended"]


def test_a_repeated_step_submits_nothing_twice(rig: Rig) -> None:
    sweep_id = sweeps(rig, at_most=2)
    submitting = SweepRecorder(rig.settings, rig.access, rig.service, rig.words)
    controller = SweepController(rig.context, submitting)
    steps = [controller.step(sweep_id) for _ in range(3)]
    for step in steps:
        rig.do(step.save)
    assert list(phases(rig)) == ["wide-1", "wide-2"]
    rig.pass_time(minutes=30)
    assert list(phases(rig)) == ["wide-1", "wide-2", "wide-3"]
    assert rig.effects() == ["create jobs"] * 3


def test_a_stop_overtakes_a_step_in_progress(rig: Rig) -> None:
    sweep_id = sweeps(rig)
    submitting = SweepRecorder(rig.settings, rig.access, rig.service, rig.words)
    step = SweepController(rig.context, submitting).step(sweep_id)
    stops(rig, sweep_id)
    rig.do(step.save)
    rig.pass_time(minutes=2)
    assert phases(rig) == {"wide-1": "stopped"}


def test_a_lead_stops_what_others_submitted_again(rig: Rig) -> None:
    sweep_id = sweeps(rig, at_most=1)
    rig.stop(runs(rig)[0].id)
    rig.pass_time(seconds=1)
    rig.stop(runs(rig)[1].id)
    rig.resubmit("wide-1", ERIN)
    rig.pass_time(seconds=1)
    made = stops(rig, sweep_id)
    assert made.left == ("wide-1#2",)
    rig.pass_time(minutes=1)
    assert sweep(rig, sweep_id).phase == "stopping"
    assert stops(rig, sweep_id, ERIN).left == ()
    rig.pass_time(minutes=1)
    assert sweep(rig, sweep_id).phase == "stopped"


def test_a_card_has_room_for_64_cells(rig: Rig) -> None:
    sizes = SweptParameter("bs", tuple(str(10**6 + size) for size in range(64)))
    sweep_id = sweeps(rig, sweep=(sizes,), at_most=1, **FASTEST)
    blocks = card_blocks(shown_card(rig, sweep_id), key="sweep")
    (table,) = (each for each in blocks if each["type"] == "data_table")
    assert len(table["rows"]) == 1 + 64
