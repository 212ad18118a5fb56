"""The network tests of a cluster so far, by the nodes they ran on."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from sqlalchemy import String, cast
from sqlmodel import Session, col, select

from bot.charts.values import Bars, Series
from bot.cluster.cluster import Cluster
from bot.config import NetworkReference, Settings, Team
from bot.slack.card import Card, Table
from bot.slack.markup import Markup, code, join, plain
from bot.training.logs.bandwidth import AVERAGE, MAXIMUM
from bot.training.records.network import TEST
from bot.training.records.pairs import PAIRS, slow_words
from bot.training.records.references import bandwidth_of, instance_types, reference_of, share_of
from bot.training.tables import Run, RunPhase

# So many tests of a cluster are looked through, and shown: the newest.
_LOOKED_THROUGH, _ROWS, _CHARTS, _BARS = 400, 20, 3, 12
_HEADER = ("Nodes", "GPUs", "EFA", "Tests", "Last max", "Best max", "Last avg", "Reference", "When")
_UNKNOWN = "unknown"

FindReference = Callable[[Run], NetworkReference | None]
"""The reference for the hardware of a test, if the settings have one."""


@dataclass(frozen=True)
class TestedNodes:
    """The tests on the same nodes with as many GPUs and adapters, oldest first."""

    tests: tuple[Run, ...]
    reference: NetworkReference | None

    @property
    def last(self) -> Run:
        """The newest test."""
        return self.tests[-1]

    @property
    def nodes(self) -> str:
        """The names of the nodes."""
        return ", ".join(self.last.nodes)

    @property
    def best(self) -> Decimal | None:
        """The largest maximum of all tests."""
        return max(filter(None, (bandwidth_of(each, MAXIMUM) for each in self.tests)), default=None)


def tested_nodes(
    session: Session, clusters: Sequence[str], find_reference: FindReference
) -> list[TestedNodes]:
    """What was tested in these clusters, the nodes of the newest test first."""
    kind = cast(col(Run.spec)["kind"].as_string(), String)
    newest = session.scalars(
        select(Run)
        .where(col(Run.cluster).in_(clusters), kind == TEST)
        .where(col(Run.phase) == RunPhase.SUCCEEDED)
        .order_by(col(Run.id).desc())
        .limit(_LOOKED_THROUGH)
    )
    found: dict[tuple[object, ...], list[Run]] = {}
    for run in newest:
        if run.nodes and MAXIMUM in run.results:
            alike = (run.cluster, *run.nodes, Decimal(run.spec["gpus"]), run.spec.get("efa") or 0)
            found.setdefault(alike, []).append(run)
    return [
        TestedNodes(tuple(reversed(tests)), find_reference(tests[0])) for tests in found.values()
    ]


class NetworkHistoryService:
    """Finds the network tests of clusters; `settings` has their references."""

    def __init__(self, settings: Callable[[], Settings], clusters: Mapping[str, Cluster]) -> None:
        self._settings = settings
        self._clusters = clusters

    def tested(self, session: Session, team: Team) -> list[TestedNodes]:
        """What was tested in the clusters of a team, by any team there."""
        references = self._settings().training.network_test.references

        def find(run: Run) -> NetworkReference | None:
            cluster = self._clusters.get(run.cluster)
            types = instance_types(cluster.view, run.nodes) if cluster else ()
            return reference_of(run, types, references)

        return tested_nodes(session, team.reach, find)


def history_card(team: str, found: Sequence[TestedNodes], example: str) -> Card:
    """The card with a row for each set of nodes, and charts of those tested more than once."""
    title = f"Network tests in the clusters of {team}"
    if not found:
        line = join("There are none yet. ", code(example), " runs one.")
        return Card(title, lines=(line,))
    rows = tuple(_row(each) for each in found[:_ROWS])
    repeated = [each for each in found if len(each.tests) > 1]
    charts = tuple(_chart(each) for each in repeated[:_CHARTS])
    more = len(found) - _ROWS
    footer = (plain(f"{more} more sets of nodes are not shown."),) if more > 0 else ()
    slow = tuple(filter(None, map(_pairs, found[:_ROWS])))
    return Card(title, lines=slow, table=Table(_HEADER, rows), charts=charts, footer=footer)


def _row(tested: TestedNodes) -> tuple[str, ...]:
    last = tested.last
    share = share_of(last, tested.reference) if tested.reference else None
    return (
        tested.nodes,
        f"{Decimal(last.spec['gpus']) * len(last.nodes):f}",
        str(last.spec.get("efa") or 0),
        str(len(tested.tests)),
        _speed(bandwidth_of(last, MAXIMUM)),
        _speed(tested.best),
        _speed(bandwidth_of(last, AVERAGE)),
        "none" if share is None else f"{share} %",
        _when(last.ended_at),
    )


def _pairs(tested: TestedNodes) -> Markup | None:
    """What the last test of all pairs of the nodes found; None if there is none."""
    measured = (each for each in reversed(tested.tests) if PAIRS in each.results)
    last = next(measured, None)
    if last is None:
        return None
    return plain(f"{tested.nodes}, {_when(last.ended_at)}: {slow_words(last.results)}")


def _chart(tested: TestedNodes) -> Bars:
    """Maximum and average of the last tests, with the reference as a line."""
    shown = tested.tests[-_BARS:]
    reference = tested.reference
    return Bars(
        title=f"Bus bandwidth between {tested.nodes}",
        labels=tuple(f"{each.ended_at:%m-%d %H:%M}" if each.ended_at else "?" for each in shown),
        series=tuple(
            Series(name, tuple(_number(bandwidth_of(each, result)) for each in shown))
            for name, result in (("maximum", MAXIMUM), ("average", AVERAGE))
        ),
        unit="GB/s",
        line=float(reference.maximum) if reference else None,
        line_name=f"reference for {reference.type}" if reference else "",
    )


def _number(value: Decimal | None) -> float | None:
    return None if value is None else float(value)


def _speed(value: Decimal | None) -> str:
    return _UNKNOWN if value is None else f"{value:.2f} GB/s"


def _when(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC" if moment else _UNKNOWN
