"""Sweeps whose runs name compute templates, on two clusters."""

from datetime import timedelta
from typing import Any

import pytest
from sqlmodel import select

from bot.errors import ConflictError, NotFoundError, UsageError
from bot.slack.grammar.container_parameters import NewVolume, SweptParameter
from bot.slack.grammar.parameters import Reference
from bot.slack.messages import Message
from bot.training.placing.choosing import TemplatesAsked
from bot.training.spec import asked_spec
from bot.training.submission.new_run import Submitted
from bot.training.templates.candidates import candidates_of, templates_of
from playground.ledger import Fault
from tests.bot.training.saved_flows.flowing import saves, starts
from tests.bot.training.sweeps.sweeping import phases, runs, shown, stops, sweep, sweeps
from tests.bot.training.sweeps.test_early import BY_LOSS, USUAL, tells
from tests.bot.training.templates.two_clusters import BOTH, TEMPLATES, TwoClusters, policy


def waiting(two: TwoClusters, **more: Any) -> str:
    """A sweep of three cells with 8 GPUs each, for which `default` has no room; its id."""
    two.fill()
    sweep_id = sweeps(two, **{"gpus": 8, "templates": BOTH, **more})
    two.pass_time(seconds=40)
    return sweep_id


def table(two: TwoClusters, sweep_id: str) -> list[str]:
    """The rows of its cells, without how long they ran."""
    text = shown(two, sweep_id).splitlines()
    return [" ".join(line.split()[:4]) for line in text if line.startswith("  wide-")]


def clusters(two: TwoClusters) -> dict[str, str]:
    """The cluster of each cell."""
    return {run.reference: run.cluster for run in runs(two) if run.name != "fills"}


def again(two: TwoClusters, name: str, *on: str, after: timedelta | None = None) -> Submitted:
    """Alice submits a run again on other templates."""
    by = two.caller()

    def work(session: Any) -> Submitted:
        run = two.service.find(session, "team-a", Reference(name))
        asked = TemplatesAsked(on, after)
        return two.service.resubmit(session, by, run, two.clock.now(), on=asked)

    return two.do(work)


def test_each_cell_moves_on_by_itself(two: TwoClusters) -> None:
    sweep_id = waiting(two)
    assert shown(two, sweep_id) == (
        "⏳ Sweep wide · Waiting\n"
        "3 cells: 3 waiting.\n"
        "  Image      `ghcr.io/acme/lane:3.1`\n"
        "  GPUs       8 GPUs for each cell\n"
        "  Templates  dgx for 10m, then burst\n"
        "  Cost       16.00 USD an hour on dgx and 36.00 USD an hour on burst, for each cell\n"
        "  By         Alice\n"
        "  Submitted  2026-11-21 12:01 UTC\n"
        "  Run     bs   Template  State    Ran\n"
        "  wide-1  32   dgx       Pending\n"
        "  wide-2  64   dgx       Pending\n"
        "  wide-3  128  dgx       Pending\n"
        "  [Stop]\n"
        "Its cells are runs: `/train resubmit wide-1` starts one again."
    )
    two.pass_time(minutes=10)
    assert set(clusters(two).values()) == {"lab"}
    assert table(two, sweep_id)[0] == "wide-1 32 burst Running"
    two.pass_time(minutes=60)
    assert {phase for name, phase in phases(two).items() if name != "fills"} == {"succeeded"}
    assert table(two, sweep_id)[2] == "wide-3 128 burst Succeeded"
    assert two.requests_of(two.other).count("create jobs") == 3


def test_moves_of_cells_post_no_messages(two: TwoClusters) -> None:
    sweep_id = waiting(two)
    two.pass_time(minutes=60)
    found = two.do(lambda session: session.scalars(select(Message)).all())
    assert [each.purpose for each in found if each.subject_id == sweep_id] == ["card", "ended"]
    cells = {run.id for run in runs(two) if run.name != "fills"}
    assert [each.purpose for each in found if each.subject_id in cells] == []


def test_each_cell_has_its_values_everywhere(two: TwoClusters) -> None:
    sweeps(two, gpus=8, templates=BOTH)
    two.pass_time(seconds=5)
    for number, size in enumerate(("32", "64", "128"), start=1):
        (run,) = (each for each in runs(two) if each.name == f"wide-{number}")
        for spec in (asked_spec(run), *(each.spec for each in candidates_of(run))):
            assert spec.command[-1] == size
            assert spec.cell is not None
            assert spec.cell.number == number
        assert templates_of(run) == BOTH


def test_at_most_counts_over_all_templates(two: TwoClusters) -> None:
    sweep_id = waiting(two, at_most=1)
    for _ in range(30):
        live = [run for run in runs(two) if run.is_live and run.name != "fills"]
        assert len(live) <= 1
        two.pass_time(minutes=2)
    assert table(two, sweep_id) == [
        "wide-1 32 burst Succeeded", "wide-2 64 burst Succeeded", "wide-3 128 burst Succeeded",
    ]  # fmt: skip


def test_a_stop_ends_cells_in_both_clusters(two: TwoClusters) -> None:
    sweep_id = sweeps(two, gpus=8, templates=BOTH, fallback_after=timedelta(minutes=1))
    two.pass_time(seconds=90)
    assert sorted(clusters(two).values()) == ["default", "lab", "lab"]
    assert stops(two, sweep_id).stopping == 3
    two.pass_time(minutes=2)
    assert set(phases(two).values()) == {"stopped"}
    assert two.jobs("wide") == []
    assert sweep(two, sweep_id).phase == "stopped"


@pytest.mark.slow
@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
@pytest.mark.parametrize("where", ["delete in default", "create in lab"])
def test_a_lost_answer_submits_no_cell_twice(two: TwoClusters, where: str, fault: Fault) -> None:
    verb, cluster = where.split(" in ")
    outside = two.outside if cluster == "default" else two.other
    outside.ledger.by_name[f"{verb} jobs"] = [fault]
    waiting(two)
    for _ in range(12):
        two.pass_time(minutes=1)
        for number in (1, 2, 3):
            assert len(two.jobs(f"wide-{number}")) <= 1
    assert len(outside.ledger.struck) == 1
    two.pass_time(minutes=60)
    assert {phase for name, phase in phases(two).items() if name != "fills"} == {"succeeded"}


def test_the_worst_cell_stops_where_it_runs(two: TwoClusters) -> None:
    two.world, here = two.other.cluster, two.world
    tells(two, USUAL)
    two.world = here
    sweep_id = sweeps(two, templates=("burst",), warm_up=8, min_cells=3, **BY_LOSS)
    two.pass_time(minutes=10)
    assert phases(two)["wide-4"] == "stopped"
    assert set(clusters(two).values()) == {"lab"}
    assert shown(two, sweep_id).splitlines()[1] == "4 cells: 3 succeeded, 1 stopped early."
    assert two.requests_of(two.other).count("delete jobs") == 1


def test_a_cell_again_keeps_its_templates(two: TwoClusters) -> None:
    sweep_id = waiting(two, at_most=1)
    two.pass_time(minutes=60)
    new = two.get(two.resubmit("wide-2"))
    assert (templates_of(new), new.cluster, new.candidate) == (BOTH, "default", 0)
    two.pass_time(minutes=30)
    assert table(two, sweep_id)[1] == "wide-2#2 64 burst Succeeded"
    assert list(two.notes(new.id)) == ["moved-1", "admitted-1", "ended"]


def test_a_cell_again_takes_other_templates(two: TwoClusters) -> None:
    sweep_id = sweeps(two, gpus=4)
    two.pass_time(minutes=30)
    assert table(two, sweep_id)[0] == "wide-1 32 Succeeded 3m"
    made = again(two, "wide-1", "burst")
    assert [(each.template, each.price) for each in made.on] == [("burst", "18.00 USD an hour")]
    two.pass_time(minutes=1)
    assert two.get(made.run_id).cluster == "lab"
    assert table(two, sweep_id)[0] == "wide-1#2 32 burst Running"
    assert table(two, sweep_id)[1] == "wide-2 64 Succeeded 3m"


def test_a_gpu_type_stays_with_its_template(two: TwoClusters) -> None:
    sweeps(two, gpus=4, templates=("dgx",))
    two.pass_time(minutes=30)
    assert two.get(again(two, "wide-1", "burst").run_id).spec["gpu_type"] is None
    back = two.get(again(two, "wide-2", "burst", "dgx", after=timedelta(minutes=7)).run_id)
    places = [(each.template, each.spec.gpu_type, each.after_seconds)
              for each in candidates_of(back)]  # fmt: skip
    assert places == [("burst", None, 420), ("dgx", "h100", 420)]


def test_unfit_templates_for_a_cell_are_refused(two: TwoClusters) -> None:
    sweeps(two, gpus=4, pvc=(NewVolume("standard", "10Gi", "/out"),))
    two.pass_time(minutes=30)
    with pytest.raises(NotFoundError, match="team-a has no compute template moon"):
        again(two, "wide-1", "moon")
    with pytest.raises(UsageError, match="it names none"):
        again(two, "wide-1", after=timedelta(minutes=5))
    with pytest.raises(UsageError, match="needs a second template") as single:
        again(two, "wide-1", "burst", after=timedelta(minutes=5))
    assert "`--on burst,dgx`" in single.value.hint
    with pytest.raises(ConflictError) as spread:
        again(two, "wide-1", *BOTH)
    assert (spread.value.message, spread.value.hint) == (
        (
            "`--pvc standard:10Gi:/out` creates a PVC in one cluster, but this run may start on"
            " default or lab."
        ),
        "Name templates of one cluster: `--on dgx`.",
    )
    assert again(two, "wide-1", "burst").warnings == (
        (
            "PVCs that were created for it in cluster default stay there; new ones are created in"
            " cluster lab."
        ),
    )


def test_a_template_gone_stops_the_sweep(two: TwoClusters) -> None:
    sweep_id = sweeps(two, gpus=4, templates=BOTH, at_most=1)
    two.pass_time(seconds=30)
    two.policy = policy({"dgx": TEMPLATES["dgx"]})
    two.pass_time(minutes=10)
    assert shown(two, sweep_id).splitlines()[:4] == [
        "⏹️ Sweep wide · Stopped",
        "3 cells: 1 succeeded, 2 not submitted.",
        "wide-2 was refused: team-a has no compute template burst.",
        "It has: dgx.",
    ]


def test_an_unread_cluster_delays_the_next_cell(two: TwoClusters) -> None:
    """What it has is unknown then: a refusal for that reason may not stop the sweep for good."""
    burst = TEMPLATES["burst"] | {"gpu_type": "h100"}
    two.policy = policy({"dgx": TEMPLATES["dgx"], "burst": burst})
    sweep_id = sweeps(two, gpus=4, templates=BOTH, at_most=1)
    two.pass_time(seconds=30)
    two.lose_lab()
    two.pass_time(minutes=10)
    assert shown(two, sweep_id).splitlines()[:3] == [
        "⚠️ Sweep wide · Waiting",
        "3 cells: 1 succeeded, 2 not submitted yet.",
        "Cluster lab has not been read yet. Retrying every minute.",
    ]
    two.other.cluster.faults.unavailable = False
    two.pass_time(minutes=20)
    assert phases(two) == dict.fromkeys(("wide-1", "wide-2", "wide-3"), "succeeded")


def test_unfit_templates_refuse_a_sweep(two: TwoClusters) -> None:
    with pytest.raises(ConflictError, match="creates a PVC in one cluster"):
        sweeps(two, templates=BOTH, pvc=(NewVolume("standard", "10Gi", "/out"),))
    with pytest.raises(NotFoundError, match="has no compute template moon"):
        sweeps(two, templates=("moon",))
    assert runs(two) == []


def test_a_flow_of_a_cell_keeps_its_templates(two: TwoClusters) -> None:
    sizes = SweptParameter("bs", ("32", "64"))
    sweeps(two, gpus=4, templates=BOTH, sweep=(sizes,))
    two.pass_time(minutes=30)
    flow_id = saves(two, "nightly", "wide-2")
    assert starts(two, flow_id, "b") == ["wide-2-b"]
    (made,) = (run for run in runs(two) if run.name == "wide-2-b")
    assert templates_of(made) == BOTH
    for spec in (asked_spec(made), *(each.spec for each in candidates_of(made))):
        assert (spec.command[-1], spec.cell) == ("64", None)
    assert made.cluster == "default"
