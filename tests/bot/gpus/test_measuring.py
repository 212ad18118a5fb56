"""What becomes of a source that cannot answer, and of time that nobody saw."""

from pathlib import Path

from bot.gpus.sampling import sample_all
from bot.gpus.usage import latest, series_of
from tests.bot.gpus.notebook import MINUTE, begin, scrape, share
from tests.bot.gpus.rig import ACTIVE, Sampled
from tests.bot.gpus.sources.gate import gate_before
from tests.prometheus import prometheus


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
        assert now.trouble == "The Prometheus of default answered 429: Too many requests."
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
    assert series.idle_since == back
