"""The projects of teams that are created from Slack, in Run:ai's control plane.

A project has no labels: its description says who created it. Nothing else of it is for notes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple

from bot.cluster import labels
from bot.cluster.resources import Resource
from bot.cluster.types.objects import ClusterObject, ObjectMeta
from bot.errors import ClusterError
from bot.quotas.engines.engine import ZERO, Manifest
from bot.quotas.engines.runai.api import NewProject, RunaiApi
from bot.quotas.engines.runai.objects import (
    READY,
    UPDATING,
    DepartmentRecord,
    GpuShare,
    NodePoolRecord,
    Project,
    ProjectRecord,
    WorkloadRecord,
)
from bot.quotas.engines.runai.queues import quota_of

_DELETING, _DELETED = "Deleting", "Deleted"
_ENDED = {"Completed", "Failed"}
_NAMED = 3
# Run:ai does not say since when a project is being deleted.
_SOME_TIME = datetime.fromtimestamp(0, UTC)
_LABELS = (labels.MANAGED_BY, labels.INSTALLATION, labels.TEAM)


class _Place(NamedTuple):
    """Where a new project belongs."""

    department: DepartmentRecord
    pool: NodePoolRecord


class ProjectStore:
    """Projects as objects of teams; `refresh` has the view read projects again after a change."""

    delays = "Run:ai has accepted this, and has not reported that it is done."

    def __init__(self, api: RunaiApi, refresh: Callable[[], None]) -> None:
        self._api = api
        self._refresh = refresh

    def get(self, resource: Resource[Any], name: str, namespace: str | None) -> Project | None:
        """The project of that name, with what its description says of who created it."""
        del resource, namespace
        found = (e for e in self._api.projects() if e.name == name and _phase(e) != _DELETED)
        record = next(found, None)
        return _object(record) if record else None

    def foresee(self, resource: Resource[Any], body: Manifest, namespace: str | None) -> str:
        """What Run:ai's lists show before a project is created: it has no dry run."""
        del resource, namespace
        place, projects = self._place(body), self._api.projects()
        wanted = body["spec"]["namespace"]
        other = next((each for each in projects if _has_namespace(each, wanted)), None)
        if other is not None:
            raise ClusterError(
                f"Namespace {wanted} already belongs to Run:ai's project {other.name}.",
                "Choose another one with `--namespace`.",
                reason="Invalid",
            )
        return f"its name is free; Run:ai has no dry run. {_shares(place, body, projects)}"

    def create(
        self, resource: Resource[Any], body: Manifest, namespace: str | None
    ) -> ClusterError | None:
        """Creates a project; a name taken by a project of the cluster is seen in the next step."""
        name = body["metadata"]["name"]
        try:
            self._api.create_project(self._new(body))
        except ClusterError as error:
            if error.is_final or error.reason == "Forbidden":
                return error
            if error.reason != "Conflict":
                raise
            return None if self.get(resource, name, namespace) is not None else error
        self._refresh()
        return None

    def delete(
        self, resource: Resource[Any], name: str, namespace: str | None, *, uid: str
    ) -> None:
        """Deletes the project with that id."""
        del resource, namespace
        self._api.delete_project(uid, name)
        self._refresh()

    def unready(self, found: ClusterObject) -> str:
        """That Run:ai has not prepared the project and its namespace yet, with its reason."""
        status = found.record.status if isinstance(found, Project) else None
        phase = (status.phase if status else None) or "in no known phase"
        if phase in {READY, UPDATING}:
            return ""
        said = f": {status.phase_message}" if status and status.phase_message else ""
        return f"Run:ai's project {found.name} is {phase}{said}."

    def uses(self, resource: Resource[Any], name: str) -> Iterator[str]:
        """The workloads of the project that have not ended, also those that are stopped."""
        del resource
        found = [each for each in self._api.workloads_of(name) if each.phase not in _ENDED]
        if found:
            yield _counted(found)

    def goes_along(self, resource: Resource[Any], name: str) -> str:
        """What Run:ai keeps in the scope of a project, and deletes with it."""
        del resource, name
        return "with its assets in Run:ai, such as environments, data sources and credentials"

    def _new(self, body: Manifest) -> NewProject:
        place, spec = self._place(body), body["spec"]
        return NewProject(
            name=body["metadata"]["name"],
            description=_description(body["metadata"]),
            department_id=place.department.id,
            namespace=spec["namespace"],
            node_pool=place.pool,
            gpus=spec["resources"][0]["gpus"],
        )

    def _place(self, body: Manifest) -> _Place:
        """The department and the node pool that a new project names."""
        spec = body["spec"]
        departments = {each.name: each for each in self._api.departments()}
        pools = {each.name: each for each in self._api.node_pools()}
        wanted, pool = spec["department"], spec["resources"][0]["nodePool"]
        if wanted not in departments:
            raise _unknown("department", wanted, sorted(departments), "--cohort")
        if pool not in pools:
            raise _unknown("node pool", pool, sorted(pools), "--type")
        return _Place(departments[wanted], pools[pool])


def _object(record: ProjectRecord) -> Project:
    marks = _marks(record.description or "")
    metadata = ObjectMeta(
        name=record.name,
        uid=record.id,
        labels={key: marks[key] for key in _LABELS if key in marks},
        annotations={key: marks[key] for key in (labels.MANIFEST,) if key in marks},
        deletion_timestamp=_SOME_TIME if _phase(record) == _DELETING else None,
    )
    return Project(metadata=metadata, record=record)


def _description(metadata: Mapping[str, Any]) -> str:
    """What a project says of who created it, with the labels that other objects have."""
    marks = {**metadata["labels"], **metadata["annotations"]}
    said = " ".join(f"{key}={value}" for key, value in marks.items())
    return f"Created by Quartermaster, which knows it by this: {said}"


def _marks(description: str) -> dict[str, str]:
    pairs = (word.partition("=") for word in description.split())
    return {key: value for key, is_pair, value in pairs if is_pair}


def _phase(record: ProjectRecord) -> str:
    return (record.status.phase if record.status else None) or ""


def _has_namespace(record: ProjectRecord, namespace: str) -> bool:
    known = record.status.namespace if record.status else None
    return namespace in {known, record.requested_namespace}


def _shares(place: _Place, body: Manifest, projects: Sequence[ProjectRecord]) -> str:
    """What the projects of a department have together with the new one, and what it has itself.

    Run:ai recommends that a department has as much as its projects together.
    """
    department, pool = place.department, place.pool
    of_it = [e for e in projects if e.parent is not None and e.parent.id == department.id]
    quotas = {each.name: _quota(each.resources, pool) for each in of_it}
    wanted = Decimal(body["spec"]["resources"][0]["gpus"])
    together = sum((each for each in quotas.values() if each > 0), wanted)
    own = _quota(department.resources, pool)
    if own < 0:
        return f"Department {department.name} has no limit of {pool.name}."
    said = f"Projects of department {department.name} then have {_plain(together)} of its"
    besides = _besides(sorted(name for name, quota in quotas.items() if quota < 0))
    above = ", more than it has: Run:ai may refuse this" if together > own else ""
    return f"{said} {_plain(own)} GPUs of {pool.name}{besides}{above}."


def _besides(unlimited: Sequence[str]) -> str:
    """The projects whose quota has no limit, as words; empty for none."""
    verb = "has" if len(unlimited) == 1 else "have"
    return f", besides those of {', '.join(unlimited)}, which {verb} no limit" if unlimited else ""


def _quota(resources: Any, pool: NodePoolRecord) -> Decimal:
    found = (e.gpu for e in resources or () if e.node_pool and e.node_pool.id == pool.id)
    return quota_of(next(found, None) or GpuShare()) or ZERO


def _plain(amount: Decimal) -> str:
    return f"{amount.normalize():f}"


def _counted(found: Sequence[WorkloadRecord]) -> str:
    named = ", ".join(sorted(each.name for each in found)[:_NAMED])
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    what = "workload" if len(found) == 1 else "workloads"
    return f"It has {len(found)} {what} in Run:ai: {named}{more}."


def _unknown(what: str, name: str, known: Sequence[str], option: str) -> ClusterError:
    there = f"There is: {', '.join(known)}." if known else "There is none."
    return ClusterError(
        f"There is no {what} {name} in this cluster of Run:ai.",
        f"{there} Choose one with `{option}`.",
        reason="Invalid",
    )
