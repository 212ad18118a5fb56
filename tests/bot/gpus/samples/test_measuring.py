"""What becomes of a source that cannot answer, and of time that nobody saw."""

from datetime import timedelta
from pathlib import Path

from bot.config import ClusterSettings
from bot.gpus.amounts import Amounts
from bot.gpus.minutes import minute_of, moment_of
from bot.gpus.samples.sampling import sample_all
from bot.gpus.samples.usage import latest, series_of
from tests.bot.gpus.notebook import MINUTE, begin, scrape, share
from tests.bot.gpus.rig import ACTIVE, Sampled
from tests.bot.gpus.sources.amazon import CloudWatchPlayed, cloudwatch
from tests.bot.gpus.sources.gate import gate_before
from tests.prometheus import Scraped, Span, prometheus


def test_a_busy_source_is_let_be(sampled: Sampled, tmp_path: Path) -> None:
    run_id = begin(sampled)
    scraped = scrape(sampled, run_id, {each: {ACTIVE: 1.0} for each in "01"})
    with prometheus(tmp_path, scraped) as url, gate_before(url) as gate:
        sampled.measured_at(gate.url)
        sampled.sample(3)
        gate.busy = 1
        asked = len(gate.asked)
        sampled.sample(1)
        sampled.do(lambda s: sample_all(sampled.settings(), s, sampled.clock.now()))
        sampled.run()
        assert len(gate.asked) == asked + 1
        now = sampled.do(lambda session: latest(session, "default"))
        assert now.trouble == "The Prometheus of default returned 429: Too many requests."
        sampled.sample(4)
    assert share(sampled, 5).efficiency == 1
    assert sampled.do(lambda session: latest(session, "default")).trouble == ""


def test_a_gap_ends_what_was_idle(sampled: Sampled, tmp_path: Path) -> None:
    run_id = begin(sampled)
    with sampled.measured(tmp_path, scrape(sampled, run_id, {each: {ACTIVE: 0} for each in "01"})):
        sampled.sample(5)
        back = sampled.clock.now() + 30 * MINUTE
        sampled.outside.clock.moment = back
        sampled.sample(5)
    [series] = sampled.do(lambda session: series_of(session, run_id))
    assert series.idle_since == moment_of(minute_of(back))


def test_a_late_remote_write_is_asked_for(sampled: Sampled, tmp_path: Path) -> None:
    run_id, places = begin(sampled), [tmp_path / each for each in ("early", "late", "gone")]
    for place in places:
        place.mkdir()
    early = scrape(sampled, run_id, {"0": {ACTIVE: 1.0}})
    late = scrape(sampled, run_id, {each: {ACTIVE: 1.0} for each in "01"})
    begun = sampled.clock.now()
    with prometheus(places[0], early) as url:
        sampled.measured_at(url)
        sampled.sample(12)
    assert share(sampled, 5).measured == 5_000
    with prometheus(places[1], late) as url, gate_before(url) as gate:
        sampled.measured_at(gate.url)
        sampled.sample(33)
        window = (9, begun + 10 * MINUTE)
        assert sampled.held(*window)["team-a/nb"].measured == 18_000
        asked = len(gate.asked)
        sampled.sample(1)
        each = len(gate.asked) - asked
        sampled.sample(20)
        assert len(gate.asked) - asked <= 24 * each  # and not again where all is known
    with prometheus(places[2], Scraped()) as url:
        sampled.measured_at(url)
        sampled.sample(45)
    assert sampled.held(*window)["team-a/nb"].measured == 18_000


def test_figures_that_come_late_are_awaited(sampled: Sampled, tmp_path: Path) -> None:
    run_id = begin(sampled)
    node = sampled.get(run_id).nodes[0]
    machine = {"spec": {"providerID": "aws:///eu-central-1a/i-0a"}}
    sampled.world.patch("nodes", node, machine)
    begun, ages = sampled.clock.now(), []
    with cloudwatch(tmp_path) as played:
        for index, percent in enumerate((100, 50, 0)):
            played.instance("i-0a", index, (begun, begun + 30 * MINUTE), percent)
        at = ClusterSettings(cloudwatch=played.settings)
        sampled.policy = sampled.policy.model_copy(update={"clusters": {"default": at}})
        for _ in range(26):
            sampled.do(lambda session: sample_all(sampled.settings(), session, sampled.clock.now()))
            sampled.run()
            sampled.outside.clock.moment += MINUTE
            now = sampled.do(lambda session: latest(session, "default"))
            if now.measured_at is not None:
                ages.append((sampled.clock.now() - now.measured_at) // MINUTE)
    assert ages == [17, 18, 19, 20, 21, 17]
    held = sampled.held(5, begun + 5 * MINUTE)["team-a/nb"]
    assert (held.allocated, held.measured, held.busy, held.idle) == (10_000, 10_000, 7_500, 0)
    assert held.memory == 3_000 / 160_000
    assert sampled.held(4, sampled.clock.now())["team-a/nb"] == Amounts(8_000)


def test_late_cloudwatch_figures_are_asked_for(sampled: Sampled, tmp_path: Path) -> None:
    run_id = begin(sampled)
    machine = {"spec": {"providerID": "aws:///eu-central-1a/i-0a"}}
    sampled.world.patch("nodes", sampled.get(run_id).nodes[0], machine)
    begun, late = sampled.clock.now(), timedelta(minutes=5)
    window = (10, begun + late + 10 * MINUTE)
    with cloudwatch(tmp_path) as played:
        report(played, (begun, begun + late))
        here = {"default": ClusterSettings(cloudwatch=played.settings)}
        sampled.policy = sampled.policy.model_copy(update={"clusters": here})
        sampled.sample(16)
        sampled.outside.clock.moment = begun + 40 * MINUTE
        sampled.sample(1)
        early = sampled.held(*window)["team-a/nb"]
        report(played, (begun + late, begun + 110 * MINUTE))
        sampled.outside.clock.moment = begun + 103 * MINUTE
        sampled.sample(1)
        assert sampled.held(*window)["team-a/nb"] == early
        sampled.sample(2)
    found = sampled.held(*window)["team-a/nb"]
    assert (early.allocated, early.measured) == (20_000, 0)
    assert (found.allocated, found.measured, found.busy) == (20_000, 20_000, 15_000)


def report(played: CloudWatchPlayed, span: Span) -> None:
    """What the agent of a node with two GPUs says of them."""
    for index, percent in enumerate((100, 50)):
        played.instance("i-0a", index, span, percent)
