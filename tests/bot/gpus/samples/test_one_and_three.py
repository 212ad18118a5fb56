"""A run on one GPU beside the same on three: hours, use and efficiency, side by side."""

from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from bot.config import Prices
from bot.gpus.minutes import Window
from bot.gpus.reports.card import report_card
from bot.gpus.reports.ranking_card import life_card
from bot.gpus.reports.report import By, Question, report
from bot.gpus.samples.sampling import sample_all
from bot.gpus.service import GpuService
from bot.slack.text import as_text
from tests.bot.gpus.notebook import FREE, HOURS, MINUTE, USED, begin
from tests.bot.gpus.rig import ACTIVE, Sampled
from tests.bot.ground import START
from tests.prometheus import Scraped

# By the name of a run: in how many minutes it holds its GPUs, and which share each of them works.
RUNS = {"one": (48, (0.95,)), "three": (18, (0.9, 0.85, 0.8))}


def scrape(sampled: Sampled, runs: dict[str, str]) -> Scraped:
    """What the exporter says of both for hours."""
    scraped, now = Scraped(), sampled.clock.now()
    for name, run_id in runs.items():
        pod = sampled.pod_of(run_id)
        for gpu, busy in enumerate(RUNS[name][1]):
            labels = {"namespace": "team-a", "pod": pod, "gpu": f"{gpu}", "UUID": f"{name}-{gpu}"}
            for metric, value in ((ACTIVE, busy), (USED, 30_000), (FREE, 50_000)):
                scraped.add(metric, labels, (now - HOURS, now + HOURS), value)
    return scraped


def play(sampled: Sampled, runs: dict[str, str]) -> Counter[str]:
    """Each runs for its time; in how many minutes the cluster had its pod."""
    held: Counter[str] = Counter()
    pods = {sampled.pod_of(run_id): name for name, run_id in runs.items()}
    for minute in range(max(minutes for minutes, _ in RUNS.values()) + 4):
        for name, (minutes, _) in RUNS.items():
            if minute == minutes:
                sampled.stop(runs[name])
                sampled.run()
        there = {each["metadata"]["name"] for each in sampled.world.list("pods", "team-a")}
        held.update(pods[each] for each in there & pods.keys())
        sampled.do(lambda session: sample_all(sampled.settings(), session, sampled.clock.now()))
        sampled.run()
        sampled.outside.clock.moment += MINUTE
    return held


def life(sampled: Sampled, run_id: str) -> list[str]:
    """What `/gpu show` tells of a run."""
    service = GpuService(sampled.settings, sampled.clusters, sampled.engines.of)
    now = sampled.clock.now()
    found = sampled.do(
        lambda session: service.life(session, sampled.service.get(session, run_id), now)
    )
    return as_text(life_card(found)).splitlines()


def test_one_gpu_and_three_stand_side_by_side(sampled: Sampled, tmp_path: Path) -> None:
    runs = {name: begin(sampled, name, len(shares)) for name, (_, shares) in RUNS.items()}
    with sampled.measured(tmp_path, scrape(sampled, runs)):
        held = play(sampled, runs)
    now = sampled.clock.now()
    midnight = START.replace(hour=0)
    question = Question(Window(midnight, midnight + timedelta(days=1)), "team-a", By.RUN)
    found = sampled.do(lambda session: report(session, question, Prices(), now))
    lines = {line.name: line.amounts for line in found.lines}
    for name, (_, shares) in RUNS.items():
        # Recomputed from the cluster and from what was put in: each minute counts each GPU.
        minutes = held[name]
        amounts = next(lines[each] for each in lines if each.endswith(name))
        assert float(amounts.gpu_hours) == pytest.approx(len(shares) * minutes / 60)
        assert float(amounts.busy_gpu_hours or 0) == pytest.approx(sum(shares) * minutes / 60)
        assert amounts.efficiency == pytest.approx(sum(shares) / len(shares))
        assert (amounts.known, amounts.idle) == (1, 0)
    assert as_text(report_card(found, "")).splitlines() == [
        "GPUs of team-a, 2026-11-21 to 2026-11-21",
        "Samples of default cover 6.7 % of the time; the figures exclude the rest.",
        "  Run           GPU-hours  Busy         At 0 %  Measured  Borrowed  Runs  Wait",
        "  team-a/three  0.95       0.81 (85 %)  0.00    100 %     -         1     0s",
        "  team-a/one    0.82       0.78 (95 %)  0.00    100 %     -         1     0s",
        "  total         1.77       1.58 (90 %)  0.00    100 %     0.00      2     0s",
    ]
    # The last line of each is its chart.
    assert {name: life(sampled, run_id)[:-1] for name, run_id in runs.items()} == {
        name: [
            f"GPUs of {name} · stopped",
            f"  GPU-hours  {hours}",
            f"  Busy       {busy}",
            "  Measured   100 % of the GPU-hours",
            "  At 0 %     0.00 GPU-hours",
            "  Memory     38 % on average, 38 % at its peak",
        ]
        for name, hours, busy in (("one", "0.82", "95 %"), ("three", "0.95", "85 %"))
    }
