"""What the trainer's webhook refuses in TrainJobs."""

from collections.abc import Iterator
from typing import Any

from playground.cluster.objects.errors import Cause, denied, not_allowed, required, wrong
from playground.cluster.objects.kinds import CLUSTER_RUNTIME, JOB_SET, TRAIN_JOB, Kind, Object
from playground.cluster.objects.names import subdomain_faults
from playground.cluster.objects.store import Store, key_of
from playground.cluster.operators.trainer import runtime_of

_HOOK = "validator.trainjob.trainer.kubeflow.org"
_RESERVED = frozenset(
    {"PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT"}
)
_LOADERS = {"dataset": "dataset-initializer", "model": "model-initializer"}
_WITHOUT_ENV = (*_LOADERS.values(), "node")
_PATCHES = "spec.runtimePatches"


class TrainJobCheck:
    """The webhook of the trainer: refuses what its runtime cannot run."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __call__(self, kind: Kind, obj: Object, old: Object | None) -> None:
        """Looks at one write."""
        if kind.qualified != TRAIN_JOB.qualified:
            return
        runtime = runtime_of(self._store, obj)
        job_set = self._store.get(JOB_SET, *key_of(obj)) if old is not None else None
        causes = [_no_runtime(obj)] if runtime is None else train_causes(obj, old, runtime, job_set)
        if causes:
            raise denied(_HOOK, causes)


def train_causes(
    new: Object, old: Object | None, runtime: Object, job_set: Object | None = None
) -> list[Cause]:
    """Everything that the trainer has against a write."""
    causes = list(_of_loaders(new, runtime))
    if old is not None:
        causes += _of_patches_kept(new, old, job_set)
    causes += _of_patches(new, runtime)
    return causes + list(_of_environment(new, runtime))


def _no_runtime(job: Object) -> Cause:
    wanted = job["spec"]["runtimeRef"]
    kind = wanted.get("kind", CLUSTER_RUNTIME.kind)
    reference = {"name": wanted["name"], "apiGroup": TRAIN_JOB.group, "kind": kind}
    words = (
        f'{kind}.{TRAIN_JOB.group} "{wanted["name"]}" not found: specified '
        f"{kind[0].lower()}{kind[1:]} must be created before the TrainJob is created"
    )
    field = "RuntimeRef" if kind == CLUSTER_RUNTIME.kind else "runtimeRef"
    return wrong(f"spec.{field}", reference, words)


def _of_loaders(job: Object, runtime: Object) -> Iterator[Cause]:
    """Data and models are loaded by jobs of the runtime that are there for it."""
    wanted, known = job["spec"].get("initializer") or {}, _containers(runtime)
    for what, name in _LOADERS.items():
        if wanted.get(what) is None:
            continue
        if name not in known:
            words = f"must have {name} job when trainJob is configured with input {what}Config"
            yield wrong("spec.runtimeRef", job["spec"]["runtimeRef"], words)
        elif name not in known[name]:
            words = f"must have container with name - {name} in the {name} job"
            yield wrong("spec.runtimeRef", job["spec"]["runtimeRef"], words)


def _of_patches_kept(new: Object, old: Object, job_set: Object | None) -> Iterator[Cause]:
    if _patches(new) == _patches(old):
        return
    if not new["spec"].get("suspend") and not old["spec"].get("suspend"):
        words = "can only be modified when the TrainJob is suspended before or after the update"
        yield not_allowed(_PATCHES, f"RuntimePatches {words}")
        return
    rows = ((job_set or {}).get("status") or {}).get("replicatedJobsStatus") or ()
    for row in rows:
        if row.get("active"):
            words = f"cannot be modified when the JobSet's ReplicatedJob {row['name']} is still"
            yield not_allowed(_PATCHES, f"RuntimePatches {words} active")


def _of_patches(job: Object, runtime: Object) -> Iterator[Cause]:
    known, patches = _containers(runtime), job["spec"].get("runtimePatches") or []
    for patch in patches:
        yield from _of_manager(patch.get("manager", ""))
        template = (patch.get("trainingRuntimeSpec") or {}).get("template") or {}
        for row in (template.get("spec") or {}).get("replicatedJobs") or ():
            if row["name"] not in known:
                words = (
                    "must not have replicated job that doesn't exist in the runtime job template"
                )
                yield wrong(_PATCHES, patches, words)
            elif _sets_environment(row):
                words = f"must not have envs for the {', '.join(_WITHOUT_ENV)} containers"
                yield wrong(_PATCHES, patches, words)


def _of_manager(manager: str) -> Iterator[Cause]:
    where = f"{_PATCHES}.manager"
    domain, slash, path = manager.partition("/")
    if not manager:
        yield required(where)
    elif not slash or not domain or not path:
        yield wrong(where, manager, 'must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        yield from (wrong(where, domain, fault) for fault in subdomain_faults(domain))


def _of_environment(job: Object, runtime: Object) -> Iterator[Cause]:
    """The trainer itself sets the variables of torchrun."""
    if (runtime["spec"].get("mlPolicy") or {}).get("torch") is None:
        return
    env = (job["spec"].get("trainer") or {}).get("env") or []
    taken = sorted({row["name"] for row in env} & _RESERVED)
    if taken:
        words = f"must not have reserved envs, invalid envs configured: [{' '.join(taken)}]"
        yield wrong("spec.trainer.env", env, words)


def _sets_environment(row: dict[str, Any]) -> bool:
    """Whether a patch sets variables of a container that the trainer sets up."""
    return any(
        each.get("env") and each["name"] in _WITHOUT_ENV
        for each in _pods(row).get("containers") or ()
    )


def _containers(runtime: Object) -> dict[str, set[str]]:
    """The names of containers, by replicated Job."""
    rows = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    return {row["name"]: {each["name"] for each in _all_of(_pods(row))} for row in rows}


def _all_of(pods: dict[str, Any]) -> list[dict[str, Any]]:
    return [*(pods.get("initContainers") or ()), *(pods.get("containers") or ())]


def _pods(row: dict[str, Any]) -> dict[str, Any]:
    """The spec of the pods of a replicated Job, or of a patch of one."""
    found: Any = row
    for name in ("template", "spec", "template", "spec"):
        found = found.get(name) or {}
    return dict(found)


def _patches(job: Object) -> list[Any]:
    """Runtime patches without when they were made, which the trainer itself writes."""
    rows = job["spec"].get("runtimePatches") or ()
    return [{name: value for name, value in row.items() if name != "time"} for row in rows]
