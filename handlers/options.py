"""What there is to choose in a team, for each kind of value that names something of it."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from itertools import groupby

from bot.commands.context import Context
from bot.commands.forms import FindOptions
from bot.config import Team
from bot.datasets import finding as datasets
from bot.datasets.tables import Dataset, Version
from bot.durations import format_duration
from bot.people.access import Right
from bot.quotas import Figures, Queues
from bot.slack.forms.form import Option
from bot.slack.grammar.container_parameters import ClaimMount, DatasetMount, FlavorName
from bot.slack.grammar.parameters import ClusterName, RunEndReference, RunReference, TeamName
from bot.snapshots import finding as snapshots
from bot.snapshots.tables import Snapshot, SnapshotPhase
from bot.training.expecting import room
from bot.training.submission.nameable import OwnClaim, own_claims, priorities
from bot.training.submission.presets import presets_of
from bot.training.wording import state_words
from bot.volumes.pools.capacity import fresh_pools
from bot.volumes.wording import capacity
from handlers.anf.changes import PoolName
from handlers.anf.volumes import ClaimName as AnfClaimName
from handlers.dataset.catalogue import DatasetName, DatasetReference, PartReference, StoreName
from handlers.snapshot.snapshots import ClaimName, SnapshotName
from handlers.train.parameters import AnyRun, PresetName, PriorityName, StateKept


def _teams(ctx: Context) -> Iterator[Option]:
    names = ctx.caller.teams if ctx.caller.is_undecided else ctx.settings.teams
    return (Option(name) for name in names)


def _clusters(ctx: Context) -> Iterator[Option]:
    _, team = ctx.team()
    return (Option(name) for name in team.reach)


def _runs(ctx: Context) -> Iterator[Option]:
    for each in ctx.training.runs.listing(ctx.session, ctx.team()[0]).runs:
        gpus = f"{each.all_gpus} GPUs" if each.gpus != "0" else ""
        said = (each.reference, state_words(each, ctx.now), each.owner, gpus)
        yield Option(each.reference, " · ".join(filter(None, said)))


def _ends(ctx: Context) -> Iterator[Option]:
    """The end of each run that another run could wait for."""
    for each in ctx.training.runs.listing(ctx.session, ctx.team()[0]).runs:
        if each.ended_at is None:
            said = (each.reference, state_words(each, ctx.now), each.owner)
            yield Option(each.reference, " · ".join(said))


def _any_runs(ctx: Context) -> Iterator[Option]:
    yield from _runs(ctx)
    for each in ctx.training.runs.external_workloads(ctx.team()[0]):
        yield Option(each.name, f"{each.name} · {each.kind}, not started here")


def _snapshots(ctx: Context) -> Iterator[Option]:
    for row in snapshots.of_team(ctx.session, ctx.team()[0]):
        if row.phase == SnapshotPhase.READY:
            yield Option(row.name, f"{row.name} · of {row.claim_name}{_age(ctx, row)}")


def _age(ctx: Context, row: Snapshot) -> str:
    if row.taken_at is None:
        return ""
    whole = timedelta(minutes=(ctx.now - row.taken_at) // timedelta(minutes=1))
    return f" · {format_duration(whole)} ago" if whole else " · just now"


def _claims(ctx: Context) -> Iterator[Option]:
    return (Option(each.name, _described(each)) for each in _own_claims(ctx))


def _mounts(ctx: Context) -> Iterator[Option]:
    for each in _own_claims(ctx):
        yield Option(f"{each.name}:/mnt/{each.name}", f"{_described(each)} · at /mnt/{each.name}")


def _own_claims(ctx: Context) -> Iterator[OwnClaim]:
    """The PVCs that the team may use, by name, in each of its clusters."""
    name, found = ctx.team()
    seen = set()
    for team, queues in _places(ctx, found):
        for claim in own_claims(queues.view, team.namespace, name):
            if claim.name not in seen:
                seen.add(claim.name)
                yield claim


def _described(claim: OwnClaim) -> str:
    return " · ".join(filter(None, claim))


def _places(ctx: Context, team: Team) -> Iterator[tuple[Team, Queues]]:
    """The team in each of its clusters, with the queues there."""
    for cluster in team.reach:
        yield team.on(cluster), ctx.quotas.queues(cluster)


def _gpu_types(ctx: Context) -> Iterator[Option]:
    for team, queues in _places(ctx, ctx.team()[1]):
        queue = queues.behind(team.namespace, team.queue)
        for figures in queue.figures if queue else ():
            yield Option(figures.flavor, f"{figures.flavor} · {_free(queues, figures)}")


def _free(queues: Queues, figures: Figures) -> str:
    free = room(figures, queues.pool(figures))
    return (
        "unknown how many can be used now"
        if free is None
        else f"{free.normalize():f} can be used now"
    )


def _priorities(ctx: Context) -> Iterator[Option]:
    for _, queues in _places(ctx, ctx.team()[1]):
        for name, value in priorities(queues.view):
            yield Option(name, f"{name} · {value}")


def _presets(ctx: Context) -> Iterator[Option]:
    for name, each in sorted(presets_of(ctx.settings, ctx.team()[1]).items()):
        yield Option(name, f"{name} · {each.purpose}" if each.purpose else name)


def _dataset_names(ctx: Context) -> Iterator[Option]:
    for each in datasets.visible(ctx.session, ctx.team()[0]):
        yield Option(each.name, f"{each.name} · {each.description}" if each.description else "")


def _versions(ctx: Context) -> Iterator[tuple[Dataset, Version]]:
    """Datasets, each with its versions, newest first."""
    for each in datasets.visible(ctx.session, ctx.team()[0]):
        for version in datasets.versions(ctx.session, each.id):
            yield each, version


def _dataset_references(ctx: Context) -> Iterator[Option]:
    for _, version in _versions(ctx):
        note = f" · {version.note}" if version.note else ""
        yield Option(version.reference, f"{version.reference}{note}")


def _dataset_mounts(ctx: Context) -> Iterator[Option]:
    for each, version in _versions(ctx):
        path = f"/data/{each.name}"
        yield Option(f"{version.reference}:{path}", f"{version.reference} · at {path}")


def _stores(ctx: Context) -> Iterable[Option]:
    return (Option(name) for name in ctx.settings.stores)


def _anf_claims(ctx: Context) -> Iterator[Option]:
    there = {each.claim.name for each in ctx.volumes.reads.own(ctx.team()[1])}
    return (Option(each.name, _described(each)) for each in _own_claims(ctx) if each.name in there)


def _pools(ctx: Context) -> Iterator[Option]:
    if ctx.caller.may(Right.ANF_POOLS):
        pools = sorted(fresh_pools(ctx.session, ctx.now).values(), key=lambda pool: pool.name)
        for name, there in groupby(pools, lambda pool: pool.name):
            first, *others = there
            free = capacity(max(first.size_bytes - first.taken_bytes, 0))
            # Accounts may have pools of one name, which differ; each name is one choice.
            said = ("in several accounts",) if others else (first.level, f"{free} free")
            yield Option(name, " · ".join(filter(None, (name, *said))))


OPTIONS: Mapping[type, FindOptions] = {
    TeamName: _teams,
    ClusterName: _clusters,
    RunReference: _runs,
    RunEndReference: _ends,
    AnyRun: _any_runs,
    SnapshotName: _snapshots,
    ClaimName: _claims,
    StateKept: _claims,
    ClaimMount: _mounts,
    FlavorName: _gpu_types,
    PriorityName: _priorities,
    PresetName: _presets,
    DatasetName: _dataset_names,
    DatasetReference: _dataset_references,
    PartReference: _dataset_references,
    DatasetMount: _dataset_mounts,
    StoreName: _stores,
    AnfClaimName: _anf_claims,
    PoolName: _pools,
}
"""How to find the options of a field, for each kind of value that has some."""
