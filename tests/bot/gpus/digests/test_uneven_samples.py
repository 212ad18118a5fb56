"""Clusters of which a digest has samples of unlike parts of the time."""

from datetime import timedelta

from bot.gpus.digests.gathering import gpus_on_average
from bot.gpus.samples.sums import Who
from bot.gpus.samples.usage import Amounts, SeriesUsage, Window, WindowUsage
from tests.bot.ground import START


def nodes(cluster: str, gpus: int, minutes: int) -> SeriesUsage:
    who = Who(1, "nodes", cluster, "", "", "", "", "", "h100", "", "", None)
    return SeriesUsage(who, Amounts(gpus * minutes * 1000))


def held(cluster: str, team: str) -> SeriesUsage:
    who = Who(1, "run", cluster, team, "", "", "", "", "h100", "", "", None)
    return SeriesUsage(who, Amounts(1000))


def test_quotas_are_known_where_a_team_is() -> None:
    found = WindowUsage(
        Window(START, START + timedelta(minutes=1000)),
        parts=(held("large", "team-a"), held("small", "team-b"), held("bare", "team-a")),
        nodes=(),
        quota=(held("large", "team-a"), held("small", "team-b")),
        borrowed=(),
        sampled={"large": 1.0, "small": 0.5, "bare": 1.0},
        quoted={"large": 1.0, "small": 0.01},
    )
    assert found.of_team("team-a").quotas_known == 1.0
    assert found.of_team("team-b").quotas_known == 0.02
    assert found.quotas_known == 0.02


def test_each_cluster_counts_by_its_own_samples() -> None:
    found = WindowUsage(
        Window(START, START + timedelta(minutes=1000)),
        parts=(),
        nodes=(nodes("large", 100, 1000), nodes("small", 8, 100)),
        quota=(),
        borrowed=(),
        sampled={"large": 1.0, "small": 0.1},
        quoted={},
    )
    assert gpus_on_average(found) == 108
