"""The owner of a pod's GPUs: team and person of a run, else namespace and name."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass

from sqlalchemy import select
from sqlmodel import Session, col

from bot.cluster.holders import Holder
from bot.cluster.view import View
from bot.config import Settings
from bot.database.upsert import Upsert
from bot.gpus.nodes import NodePool
from bot.gpus.samples.holding import controller_of
from bot.gpus.tables import Series, What
from bot.training.external.listing import OWNER_LABELS, root_in
from bot.training.spec import spec_of
from bot.training.tables import Run

_REPLICA_SET = "ReplicaSet"


# Two processes may insert the same series at once.
_UPSERT = Upsert(Series, ("key",), lambda new: {"name": new.name})


@dataclass(frozen=True)
class Owner:
    """The owner of a series, before the series has an id."""

    what: str
    cluster: str
    team: str = ""
    person: str = ""
    run_id: str = ""
    namespace: str = ""
    name: str = ""
    gpu_type: str = ""
    pool: str = ""
    datasets: str = ""

    @property
    def key(self) -> str:
        """The unique key of its series."""
        whose = self.run_id or f"{self.team}/{self.namespace}/{self.name}"
        return f"{self.what}|{self.cluster}|{whose}|{self.gpu_type}|{self.pool}"


def of_run(run: Run, place: NodePool) -> Owner:
    """The owner for a run on GPUs of one type."""
    return Owner(
        What.RUN,
        run.cluster,
        team=run.team,
        person=run.person,
        run_id=run.id,
        namespace=run.namespace,
        name=run.reference,
        gpu_type=place.gpu_type or run.flavor,
        pool=place.pool,
        datasets=", ".join(sorted(each.reference for each in spec_of(run).data)),
    )


def of_holder(
    pod: Holder, view: View, cluster: str, teams: Mapping[str, str], place: NodePool
) -> Owner:
    """The owner for another workload: the Job, Deployment or other controller of the pod."""
    kind, name = controller_of(pod)
    if kind == _REPLICA_SET:
        name = name.rpartition("-")[0] or name
    root = root_in(view, kind, name, pod.namespace)
    known = root.labels if root else {}
    return Owner(
        What.OTHER,
        cluster,
        team=teams.get(pod.namespace, ""),
        person=next((known[each] for each in OWNER_LABELS if known.get(each)), ""),
        namespace=pod.namespace,
        name=name,
        gpu_type=place.gpu_type,
        pool=place.pool,
    )


def teams_of(settings: Settings, cluster: str) -> dict[str, str]:
    """The team that each namespace of a cluster belongs to."""
    return {team.namespace: name for name, team in settings.teams.items() if cluster in team.reach}


def runs(session: Session, ids: Collection[str]) -> dict[str, Run]:
    """The runs of these ids."""
    chosen = select(Run).where(col(Run.id).in_(ids))
    return {run.id: run for run in session.scalars(chosen)} if ids else {}


def ids_of(session: Session, owners: Collection[Owner]) -> dict[Owner, int]:
    """The id of each owner's series; creates new series."""
    keys = {each.key: each for each in owners}
    found = _known(session, keys)
    new = {key: each for key, each in keys.items() if key not in found}
    for key, each in new.items():
        _UPSERT(session, {"key": key, **asdict(each)})
    found |= _known(session, new)
    return {each: found[each.key] for each in owners}


def _known(session: Session, keys: Collection[str]) -> dict[str, int]:
    chosen = select(col(Series.key), col(Series.id)).where(col(Series.key).in_(keys))
    rows = session.connection().execute(chosen) if keys else ()
    return {key: id_ for key, id_ in rows if id_ is not None}
