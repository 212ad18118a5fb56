"""Executes one decision: creates or deletes one object of a run, by its name or uid."""

from dataclasses import replace

from bot.cluster import labels
from bot.cluster.api.answers import MISSING
from bot.cluster.cluster import Cluster
from bot.cluster.types.objects import ClusterObject
from bot.errors import ClusterError, UserError
from bot.quotas import Engine
from bot.quotas.engines.manifests import templates
from bot.reconcile.decisions import Create
from bot.training.adoption.record import recorded
from bot.training.kinds import kind_of_run
from bot.training.kinds.kind import Dependent, Manifest, RootType
from bot.training.kinds.pods.template import owner_labels
from bot.training.kinds.status import Root
from bot.training.mishaps import over_quota
from bot.training.queueing import queueing_of
from bot.training.runs.decide import (
    Await,
    Clear,
    CreateDependent,
    Decision,
    Delete,
    End,
    Prepare,
    RunObserved,
    Scale,
    UpdateStatus,
)
from bot.training.state import State
from bot.training.submission.claims import refuse_unmountable
from bot.training.submission.own_secrets import refuse_marked
from bot.training.tables import Run, RunPhase
from bot.training.templates.moving import Withdraw


def act(
    cluster: Cluster, engine: Engine, run: Run, seen: RunObserved, decision: Decision
) -> tuple[Decision, RunObserved]:
    """Executes a decision and returns what to record; ClusterError when it has to be retried."""
    root = kind_of_run(run).root.resource
    match decision:
        case Create():
            return _create(cluster, engine, run, seen)
        case CreateDependent(dependent):
            return _furnish(cluster, engine, run, seen, dependent) or decision, seen
        case Scale():
            return _scale(cluster, engine, run, seen, decision)
        case Delete() if seen.root is not None:
            # Pods have a moment to end; what they say until then is kept by later looks.
            cluster.delete(root, run.job_name, run.namespace, uid=seen.root.uid)
        case Withdraw() if seen.root is not None:
            return _withdraw(cluster, run, seen.root), seen
        case Clear(dependent, uid):
            cluster.delete(dependent.resource, dependent.name, run.namespace, uid=uid)
        case _:
            pass
    return decision, seen


def _withdraw(cluster: Cluster, run: Run, root: Root) -> Decision:
    """Deletes the root, unless it has changed since: it may have been admitted."""
    resource, version = kind_of_run(run).root.resource, root.object.metadata.resource_version
    try:
        cluster.delete(resource, run.job_name, run.namespace, uid=root.uid, version=version)
    except ClusterError as error:
        if error.reason != "Conflict":
            raise
    return Await()


def _create(
    cluster: Cluster, engine: Engine, run: Run, seen: RunObserved
) -> tuple[Decision, RunObserved]:
    """Creates the root. If its name is taken, the next observation shows by what."""
    try:
        refuse_unmountable(cluster, run)
        refuse_marked(cluster, run)
    except UserError as refusal:
        state = State(RunPhase.FAILED, reason=refusal.message, advice=refusal.hint)
        return End(state), seen
    kind = kind_of_run(run)
    root = kind.root
    manifest = engine.runs.apply_queueing(
        kind.manifest(run, cluster.installation), queueing_of(run)
    )
    manifest["metadata"]["annotations"][labels.RECORD] = recorded(run)
    try:
        unmanaged = _unmanaged(engine, root, manifest, run.namespace)
        if unmanaged:
            return End(State(RunPhase.UNMANAGED, reason=unmanaged)), seen
        made = _make(cluster, root, manifest, run.namespace)
    except ClusterError as error:
        if error.reason == "AlreadyExists":
            return Await(), seen
        if not _is_end(error):
            raise _in_words(error) from error
        advice = root.needs if error.reason == "NotServed" else error.hint
        return End(State(RunPhase.FAILED, reason=error.message, advice=advice)), seen
    return UpdateStatus(State(RunPhase.PENDING)), RunObserved(root.read(made))


def _unmanaged(engine: Engine, root: RootType, manifest: Manifest, namespace: str) -> str:
    """Why the quota engine would not manage the root; empty if it does so wherever it is."""
    if not root.unqueued:
        return ""
    unmanaged = engine.runs.leaves_alone(root.resource, manifest, namespace)
    return f"{unmanaged} {root.unqueued}" if unmanaged else ""


def _make(cluster: Cluster, root: RootType, manifest: Manifest, namespace: str) -> ClusterObject:
    """Creates the root, in the form of an older operator if it does not know the current one."""
    made: ClusterObject
    if root.earlier is None:
        made = cluster.create(root.resource, manifest, namespace)
        return made
    try:
        made = cluster.create(root.resource, manifest, namespace, is_strict=True)
    except ClusterError as error:
        earlier = root.earlier(manifest, error)
        if earlier is None:
            raise
        made = cluster.create(root.resource, earlier, namespace, is_strict=True)
    return made


def _furnish(
    cluster: Cluster, engine: Engine, run: Run, seen: RunObserved, dependent: Dependent
) -> Decision | None:
    """Creates a dependent; returns what else to record if that failed."""
    body = {"metadata": _metadata(cluster, run, seen.root, dependent), **dependent.body()}
    for template in templates(body):
        template["metadata"]["labels"] |= owner_labels(run, cluster.installation)
    body = engine.runs.apply_beside(body, queueing_of(run))
    try:
        cluster.create(dependent.resource, body, run.namespace)
    except ClusterError as error:
        if error.reason == "AlreadyExists":
            return Await()
        if not _is_end(error):
            raise _in_words(error) from error
        if seen.root is None:
            return End(State(RunPhase.FAILED, reason=error.message, advice=error.hint))
        return Prepare(RunPhase.FAILED, error.message, error.hint)
    return None


def _scale(
    cluster: Cluster, engine: Engine, run: Run, seen: RunObserved, decision: Scale
) -> tuple[Decision, RunObserved]:
    """Patches the number of nodes of the root; a conflicting change is observed again first."""
    type_ = kind_of_run(run).root
    resource = type_.resource
    found = cluster.get(resource, run.job_name, run.namespace)
    if found is None or seen.root is None or found.uid != seen.root.uid:
        return Await(), seen
    root = type_.read(found)
    refusal = "" if root.status.is_suspended else engine.runs.fixed(resource, found)
    if refusal:
        return replace(decision, refusal=refusal), seen
    if root.nodes == decision.nodes or type_.nodes is None:
        return decision, replace(seen, root=root)
    guard = {"uid": found.uid, "resourceVersion": found.metadata.resource_version}
    body = {"metadata": guard, **type_.nodes.patch(decision.nodes)}
    try:
        changed = cluster.patch_merge(resource, run.job_name, body, run.namespace)
    except ClusterError as error:
        if error.reason == "Conflict":
            return Await(), seen
        if not _is_end(error):
            raise
        return replace(decision, refusal=error.message), seen
    return decision, replace(seen, root=type_.read(changed))


def _is_end(error: ClusterError) -> bool:
    """Whether retrying cannot help; other errors, such as missing rights or quota, may pass."""
    return error.is_final or error.reason in {"NotServed", MISSING}


def _in_words(error: ClusterError) -> ClusterError:
    """The error with its hint; for retried errors only the message is shown."""
    if error.reason == "OverQuota":
        full = over_quota(error.message)
        said = f"{full.said} {full.advice}"
    else:
        said = f"{error.message} {error.hint}".strip()
    return ClusterError(said, error.hint, status=error.status, reason=error.reason)


def _metadata(cluster: Cluster, run: Run, root: Root | None, dependent: Dependent) -> Manifest:
    metadata: Manifest = {
        "name": dependent.name,
        "namespace": run.namespace,
        "labels": owner_labels(run, cluster.installation),
    }
    if root is None or dependent.is_first:
        return metadata
    resource = kind_of_run(run).root.resource
    owner = {
        "apiVersion": f"{resource.group}/{resource.versions[0]}",
        "kind": resource.kind,
        "name": root.object.name,
        "uid": root.uid,
    }
    return metadata | {"ownerReferences": [owner]}
