"""Who holds the GPUs of a cluster and what these do, written down minute by minute."""

from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from bot.cluster.resources import CLUSTER_QUEUES, LOCAL_QUEUES, NODES
from bot.config import Prices
from bot.gpus.amounts import Amounts
from bot.gpus.minutes import Window, minute_of, moment_of
from bot.gpus.reports.report import By, Question, report
from bot.gpus.samples.measuring import MeasureController
from bot.gpus.samples.sampling import sample_all
from bot.gpus.samples.usage import latest, series_of, timeline, together
from bot.gpus.tables import Sampling
from bot.training.records.spans import times_of
from playground.cluster.story import training_job
from tests.bot.gpus.notebook import FREE, HOURS, MINUTE, USED, begin, scrape, share
from tests.bot.gpus.rig import ACTIVE, UTILIZATION, Sampled, offered, requested
from tests.bot.training.sessions.test_session_queue import keep_apart
from tests.prometheus import Scraped

H100 = "NVIDIA-H100-80GB-HBM3"


def test_pods_are_attributed_to_runs_and_teams(sampled: Sampled) -> None:
    begin(sampled)
    sampled.world.create("jobs", training_job("by-hand", 1, epochs=100), "team-b")
    sampled.world.create("jobs", training_job("elsewhere", 1, epochs=100), "default")
    sampled.sample(5)
    found = sampled.used(5)
    assert {
        (each.series.team, each.series.person, each.series.name, each.series.gpu_type): (
            each.amounts.allocated
        )
        for each in found.parts
    } == {
        ("team-a", "U0ALICE", "nb", "h100"): 10_000,
        ("team-b", "", "by-hand", "h100"): 5_000,
        ("", "", "elsewhere", "h100"): 5_000,
    }
    assert together(found.nodes).allocated == 5 * 16_000
    assert found.sampled == {"default": 1.0}
    assert {team: float(hours) for team, hours in found.quota_by_team().items()}[
        "team-a"
    ] == pytest.approx(4 * 5 / 60)
    assert found.borrowed_by_team()["team-a"] == 0
    assert found.held.known == 0
    assert found.held.efficiency is None


def test_quota_of_sessions_belongs_to_the_team(sampled: Sampled) -> None:
    keep_apart(sampled, gpus="2")
    for each in (CLUSTER_QUEUES, LOCAL_QUEUES):
        sampled.refresh(each)
    sampled.sample(5)
    hours = {team: float(each) for team, each in sampled.used(5).quota_by_team().items()}
    assert hours["team-a"] == pytest.approx((4 + 2) * 5 / 60)


def test_what_ended_holds_nothing_any_more(sampled: Sampled) -> None:
    run_id = begin(sampled)
    sampled.sample(3)
    sampled.stop(run_id)
    sampled.pass_time(minutes=2)
    sampled.sample(3)
    assert sampled.held(3) == {}
    assert sampled.held(8)["team-a/nb"].allocated == 6_000
    series = sampled.do(lambda session: series_of(session, run_id))
    assert [each.name for each in series] == ["nb"]


def test_a_cluster_out_of_sight_is_a_gap(sampled: Sampled) -> None:
    begin(sampled)
    sampled.sample(2)
    sampled.cluster.view.store(NODES).synced = False
    sampled.sample(2)
    found = sampled.used(4)
    assert found.sampled == {"default": 0.5}
    assert found.held.allocated == 4_000


@pytest.mark.parametrize("prefix", ["", "exported_"])
def test_busy_and_idle_gpus_are_measured(sampled: Sampled, tmp_path: Path, prefix: str) -> None:
    run_id = begin(sampled)
    scraped = scrape(
        sampled,
        run_id,
        {
            "0": {ACTIVE: 0.5, USED: 60_000, FREE: 20_000},
            "1": {UTILIZATION: 0, USED: 20_000, FREE: 60_000},
        },
        prefix,
    )
    with sampled.measured(tmp_path, scraped):
        sampled.sample(7)
        assert share(sampled, 5) == Amounts(10_000, 10_000, 2_500, 5_000, 400_000, 800_000)
        assert sampled.held(1)["team-a/nb"].measured == 0
        now = sampled.do(lambda session: latest(session, "default"))
    assert now.trouble == ""
    assert now.sampled_at is not None
    assert now.measured_at == now.sampled_at - 2 * MINUTE
    assert together(now.measured).efficiency == 0.25


def test_a_gpu_nobody_sees_is_unknown(sampled: Sampled, tmp_path: Path) -> None:
    run_id = begin(sampled)
    bad: dict[str, dict[str, float]] = {"0": {ACTIVE: 1.0}, "1": {UTILIZATION: 9223372036854775794}}
    with sampled.measured(tmp_path, scrape(sampled, run_id, bad)):
        sampled.sample(7)
    found = share(sampled, 5)
    assert (found.allocated, found.measured, found.busy) == (10_000, 5_000, 5_000)
    assert found.known == 0.5
    assert found.memory is None


def test_slices_of_a_gpu_are_told_apart(sampled: Sampled, tmp_path: Path) -> None:
    run_id = begin(sampled)
    scraped, now, pod = Scraped(), sampled.clock.now(), sampled.pod_of(run_id)
    for slice_, value in (("1", 1.0), ("2", 0.0)):
        labels = {"namespace": "team-a", "pod": pod, "gpu": "0", "UUID": "a", "GPU_I_ID": slice_}
        scraped.add(ACTIVE, labels, (now - HOURS, now + HOURS), value)
    with sampled.measured(tmp_path, scraped):
        sampled.sample(7)
    assert share(sampled, 5).efficiency == 0.5
    assert share(sampled, 5).idle == 5_000


def test_figures_come_later_when_nobody_answered(sampled: Sampled, tmp_path: Path) -> None:
    run_id = begin(sampled)
    scraped = scrape(sampled, run_id, {each: {ACTIVE: 1.0} for each in "01"})
    sampled.measured_at("http://127.0.0.1:9")
    sampled.sample(10)
    now = sampled.do(lambda session: latest(session, "default"))
    assert now.trouble == "The Prometheus of default does not respond: NewConnectionError."
    assert now.measured_at is None
    assert share(sampled, 5).efficiency is None
    with sampled.measured(tmp_path, scraped):
        sampled.pass_time(minutes=6)
        sampled.sample(2)
    assert share(sampled, 10).efficiency == 1
    assert sampled.do(lambda session: latest(session, "default")).trouble == ""


def test_missed_minutes_are_filled_from_metrics(sampled: Sampled, tmp_path: Path) -> None:
    run_id = begin(sampled)
    sampled.sample(3)
    begun = sampled.clock.now()
    scraped = scrape(sampled, run_id, {each: {ACTIVE: 1.0} for each in "01"})
    requested(scraped, sampled.pod_of(run_id), (begun - HOURS, begun + HOURS))
    requested(scraped, "short-lived", (begun + 10 * MINUTE, begun + 20 * MINUTE), 1)
    offered(scraped, (begun - HOURS, begun + 60 * MINUTE))
    sampled.pass_time(minutes=90)
    sampled.restart()
    assert sampled.used(60, begun + 60 * MINUTE).sampled == {}
    with sampled.measured(tmp_path, scraped):
        sampled.sample(4)
    found = sampled.used(60, begun + 60 * MINUTE)
    assert found.sampled == {"default": 1.0}
    # Of quotas kube-state-metrics knows nothing, so what was sampled in time alone has them.
    assert sampled.used(63, begun + 60 * MINUTE).quotas_known == pytest.approx(3 / 63)
    held = sampled.held(60, begun + 60 * MINUTE)
    assert held["team-a/nb"] == Amounts(120_000, 120_000, 120_000)
    # What is 90 seconds old is as good as new.
    assert 10_000 <= held["team-a/short-lived"].allocated <= 11_000
    assert held["team-a/short-lived"].efficiency is None
    # Of the half hour after that there is nothing to read, so nothing is said of it.
    assert sampled.used(25, begun + 88 * MINUTE).sampled == {}


def test_hours_are_summed_up_and_kept(sampled: Sampled, tmp_path: Path) -> None:
    run_id = begin(sampled)
    with sampled.measured(
        tmp_path, scrape(sampled, run_id, {each: {ACTIVE: 0.25} for each in "01"})
    ):
        sampled.sample(65)
    state = sampled.do(lambda session: session.get_one(Sampling, "default"))
    assert moment_of(state.rolled * 60) == moment_of(minute_of(sampled.clock.now()) // 60 * 60)
    assert share(sampled, 60).efficiency == 0.25
    assert share(sampled, 60).allocated == 120_000
    window = sampled.used(65).window
    slots = sampled.do(
        lambda session: timeline(session, window, "default", 5 * MINUTE, lambda each: each.run_id)
    )
    assert {round(each.gpus(run_id), 3) for each in slots} == {2.0}


def test_idleness_is_followed_until_work_begins(sampled: Sampled, tmp_path: Path) -> None:
    run_id = begin(sampled)
    now, pod, scraped = sampled.clock.now(), sampled.pod_of(run_id), Scraped()
    for gpu in "01":
        labels = {"namespace": "team-a", "pod": pod, "gpu": gpu}
        scraped.add(ACTIVE, labels, (now - HOURS, now + 20 * MINUTE), 0)
        scraped.add(ACTIVE, labels, (now + 20 * MINUTE, now + HOURS), 1)

    def since() -> datetime | None:
        [series] = sampled.do(lambda session: series_of(session, run_id))
        return series.idle_since

    with sampled.measured(tmp_path, scraped):
        sampled.sample(15)
        assert since() == moment_of(minute_of(now))
        sampled.sample(10)
        assert since() is None


def test_a_minute_sampled_twice_counts_once(sampled: Sampled) -> None:
    begin(sampled)
    begun = sampled.clock.now()
    sampled.sample(1)
    for _ in range(3):
        sampled.restart()
        sampled.do(lambda s: sample_all(sampled.settings(), s, sampled.clock.now()))
        sampled.pass_time(seconds=5)
    assert sampled.held(2, begun + 2 * MINUTE)["team-a/nb"].allocated == 4_000


def test_reports_agree_with_records_of_runs(sampled: Sampled) -> None:
    run_id = begin(sampled)
    sampled.sample(25)
    sampled.stop(run_id)
    sampled.sample(3)
    now = sampled.clock.now()
    window = Window(now - timedelta(hours=2), now)
    found = sampled.do(
        lambda session: report(session, Question(window, "team-a", By.RUN), Prices(), now)
    )
    [line] = found.lines
    recorded = sampled.do(
        lambda session: times_of(session, sampled.service.get(session, run_id), now)
    ).gpu_hours
    assert recorded is not None
    # Its two GPUs, up to a minute at its begin and at its end.
    assert abs(line.amounts.gpu_hours - recorded) <= Decimal(4) / 60
    assert line.amounts == found.total.amounts
    assert line.runs == {run_id}


def test_costs_are_unknown_where_prices_miss(sampled: Sampled) -> None:
    begin(sampled)
    sampled.sample(30)
    now = sampled.clock.now()
    window = Window(now - timedelta(hours=1), now)

    def cost(**prices: Decimal) -> Decimal | None:
        asked, priced = Question(window, None, By.TEAM), Prices(per_gpu_hour=prices)
        return sampled.do(lambda session: report(session, asked, priced, now)).total.known_cost

    assert cost(h100=Decimal(3)) == Decimal(3)
    assert cost(a100=Decimal(3)) is None


def test_asking_twice_changes_nothing(sampled: Sampled, tmp_path: Path) -> None:
    run_id = begin(sampled)
    sampled.measured_at("http://127.0.0.1:9")
    sampled.sample(7)
    with sampled.measured(
        tmp_path, scrape(sampled, run_id, {each: {ACTIVE: 0.5} for each in "01"})
    ):
        parts = (sampled.database, sampled.clock, sampled.settings, sampled.clusters)
        first, second = (MeasureController(*parts).step("default") for _ in range(2))
        sampled.do(first.save)
        before = share(sampled, 5)
        sampled.do(second.save)
        sampled.do(second.save)
    assert before == share(sampled, 5) == Amounts(10_000, 10_000, 5_000)
