"""Each line of a run's log counts once: between looks, over restarts, and in a rotated log."""

from collections.abc import Callable
from datetime import datetime, timedelta

from bot.cluster.resources import PODS
from bot.slack.grammar.parameters import Nodes
from bot.training.logs import tails
from bot.training.series.following import Cursor, new_lines
from bot.training.series.points import Series
from bot.training.series.reading import MOST_REPORTED
from bot.training.series.service import (
    MOST_NAMES,
    MOST_VALUES,
    Missing,
    missing_of,
    series_of,
)
from playground.cluster.control.training import Line, Training
from tests.bot.training.rig import IMAGE, Rig

Log = Callable[[Training, datetime, datetime], list[Line]]


def reports(each_second: int = 1, padding: int = 0, torn: bool = False) -> Log:  # noqa: FBT001, FBT002
    """Reports its step so often, with so many letters of other output before each."""

    def log(training: Training, started: datetime, until: datetime) -> list[Line]:
        lasts = training.seconds or 1e9
        seconds = min((until - started).total_seconds(), lasts)
        said = []
        for step in range(int(seconds * each_second)):
            at = started + timedelta(seconds=step / each_second)
            if padding:
                said.append((at, "x" * padding))
            said.append((at, f'quartermaster: {{"step": {step}, "mIoU": {step / 1000}}}'))
        return [*said, (until, "quartermaster: {\r")] if torn else said

    return log


def series(rig: Rig, run_id: str) -> dict[str, Series]:
    return rig.do(lambda session: {row.name: row.series() for row in series_of(session, run_id)})


def steps(rig: Rig, run_id: str, name: str = "mIoU") -> list[float | None]:
    return [point.step for point in series(rig, run_id)[name].points]


def log_reads(rig: Rig) -> int:
    return sum("log" in request.name for request in rig.outside.ledger.requests)


def test_each_line_becomes_one_point(rig: Rig) -> None:
    rig.world.behaviours[IMAGE] = Training(never_ends=True, log=reports(torn=True))
    run_id = rig.submit()
    rig.pass_time(minutes=4)
    found = steps(rig, run_id)
    assert found == list(range(len(found)))
    assert len(found) > 150
    assert missing_of(rig.get(run_id)) == Missing()
    point = series(rig, run_id)["mIoU"].points[60]
    assert point.at - series(rig, run_id)["mIoU"].points[0].at == 60


def test_a_restarted_bot_doubles_no_point(rig: Rig) -> None:
    rig.world.behaviours[IMAGE] = Training(never_ends=True, log=reports())
    run_id = rig.submit()
    rig.pass_time(minutes=2)
    for _ in range(3):
        rig.restart()
        rig.forget_view()
        rig.pass_time(seconds=45)
    found = steps(rig, run_id)
    assert found == list(range(len(found)))
    assert len(found) > 200


def test_the_last_lines_of_a_run_count(rig: Rig) -> None:
    behaviour = Training(epochs=1, seconds_per_epoch=96, log=reports())
    rig.world.behaviours[IMAGE] = behaviour
    run_id = rig.submit()
    rig.pass_time(minutes=10)
    run = rig.get(run_id)
    assert run.phase == "succeeded"
    assert steps(rig, run_id) == list(range(100))
    assert run.results["mIoU"] == "0.099"


def test_lines_between_two_tails_are_read(rig: Rig) -> None:
    """Half a megabyte is read of each look; this one writes more than that in between."""
    rig.world.behaviours[IMAGE] = Training(never_ends=True, log=reports(10, padding=4_000))
    run_id = rig.submit()
    rig.pass_time(minutes=2)
    found = series(rig, run_id)["mIoU"]
    assert found.count > 600
    assert found.every == 2
    assert [point.step for point in found.points] == list(range(0, found.count, 2))
    assert missing_of(rig.get(run_id)) == Missing()


def test_a_rotated_log_is_said_to_lack_lines(rig: Rig) -> None:
    rig.world.behaviours[IMAGE] = Training(never_ends=True, log=reports(40, padding=15_000))
    run_id = rig.submit()
    rig.pass_time(minutes=2, seconds=30)
    found = series(rig, run_id)["mIoU"]
    known = [point.step or 0 for point in found.points]
    assert known == sorted(set(known))
    assert missing_of(rig.get(run_id)).gaps > 0


def test_a_restarted_container_loses_no_line(rig: Rig) -> None:
    rig.world.behaviours[IMAGE] = Training(fails_after=50, log=reports())
    run_id = rig.submit(kind="elastic", gpus=1)
    rig.pass_time(minutes=3)
    found = steps(rig, run_id)
    assert rig.get(run_id).restarts
    assert found[:100] == [*range(50), *range(50)]


def test_the_first_pod_alone_counts(rig: Rig) -> None:
    rig.world.behaviours[IMAGE] = Training(epochs=1, seconds_per_epoch=56, log=reports())
    run_id = rig.submit(kind="elastic", gpus=1, nodes=Nodes(2, 2))
    rig.pass_time(minutes=8)
    assert rig.get(run_id).phase == "succeeded"
    assert steps(rig, run_id) == list(range(60))


def test_a_second_save_of_one_look_is_ignored(rig: Rig) -> None:
    rig.world.behaviours[IMAGE] = Training(never_ends=True, log=reports())
    run_id = rig.submit()
    rig.pass_time(minutes=1)
    before = series(rig, run_id)["mIoU"].count
    row = rig.do(lambda session: rig.controller.load(session, run_id))
    assert row is not None
    rig.outside.clock.moment += timedelta(seconds=45)
    step = rig.controller.reconcile(row, rig.clock.now())
    rig.do(step.save)
    once = series(rig, run_id)["mIoU"].count
    rig.do(step.save)
    assert before < once == series(rig, run_id)["mIoU"].count


def test_a_tail_that_is_enough_is_read_once(rig: Rig) -> None:
    rig.world.behaviours[IMAGE] = Training(never_ends=True, log=reports())
    run_id = rig.submit()
    rig.pass_time(minutes=1)
    before, read_at = log_reads(rig), rig.get(run_id).read_at
    rig.pass_time(minutes=3)
    assert before > 0
    assert read_at != rig.get(run_id).read_at
    assert log_reads(rig) - before <= 6


def test_reported_values_replace_those_of_output(rig: Rig) -> None:
    def log(_: Training, started: datetime, __: datetime) -> list[Line]:
        said = [(started, "step 1 loss 9.0"), (started, 'quartermaster: {"step": 2, "loss": 0.5}')]
        return [*said, (started, "step 3 loss 9.0"), (started, "val loss 0.7")]

    rig.world.behaviours[IMAGE] = Training(never_ends=True, log=log)
    run_id = rig.submit()
    rig.pass_time(minutes=1)
    found = series(rig, run_id)
    assert [point.value for point in found["loss"].points] == [0.5]
    assert [point.value for point in found["val loss"].points] == [0.7]


def test_more_names_than_fit_are_named(rig: Rig) -> None:
    def log(_: Training, started: datetime, __: datetime) -> list[Line]:
        values = ", ".join(f'"m{number}": {number}' for number in range(MOST_NAMES + 3))
        return [(started, f"quartermaster: {{{values}}}")]

    rig.world.behaviours[IMAGE] = Training(never_ends=True, log=log)
    run_id = rig.submit()
    rig.pass_time(minutes=1)
    assert len(series(rig, run_id)) == MOST_NAMES
    assert missing_of(rig.get(run_id)) == Missing(0, ("m40", "m41", "m42"))
    assert len(rig.get(run_id).results) == 8


def test_a_log_that_is_gone_is_a_gap(rig: Rig) -> None:
    rig.world.behaviours[IMAGE] = Training(never_ends=True, log=reports(10, padding=4_000))
    rig.submit()
    rig.pass_time(minutes=1)
    (pod,) = rig.cluster.list(PODS, "team-a")
    (tail,) = tails.read(rig.cluster, [pod])
    rig.world.delete("pods", pod.name, "team-a")
    rig.pass_time(minutes=1)
    found = new_lines(rig.cluster, tail, Cursor(0, 0, 0), lambda _: True)
    assert found.is_lost
    assert found.lines
    assert found.lines[-1].text == tail.found.lines[-1]


def flood(training: Training, started: datetime, _: datetime) -> list[Line]:
    """Reports a hundred metrics in each of many lines, in the last second if it has one."""
    at = started + timedelta(seconds=(training.seconds or 4) - 1)
    values = ", ".join(f'"m{number}": 1' for number in range(MOST_REPORTED - 1))
    return [
        (at + timedelta(microseconds=line), f'quartermaster: {{"step": {line}, {values}}}')
        for line in range(3_500)
    ]


def test_a_flood_of_values_takes_several_looks(rig: Rig) -> None:
    """All at once would need a gigabyte of memory, and longer than a step may take."""
    rig.world.behaviours[IMAGE] = Training(never_ends=True, log=flood)
    run_id = rig.submit()
    rig.pass_time(seconds=20)
    first = series(rig, run_id)["m0"].count
    assert first == MOST_VALUES // (MOST_REPORTED - 1) + 1
    rig.pass_time(minutes=3)
    assert series(rig, run_id)["m0"].count == 3_500
    assert missing_of(rig.get(run_id)).gaps == 0


def test_a_flood_at_the_end_is_a_gap(rig: Rig) -> None:
    rig.world.behaviours[IMAGE] = Training(epochs=1, seconds_per_epoch=4, log=flood)
    run_id = rig.submit()
    rig.pass_time(minutes=10)
    assert rig.get(run_id).phase == "succeeded"
    assert series(rig, run_id)["m0"].count < 3_500
    assert missing_of(rig.get(run_id)).gaps == 1
