"""Observes the PVC of a cache, the Job that fills it and its pods, by live reads."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import JOBS, PODS, PVCS, VOLUMES
from bot.cluster.types.claims import PersistentVolume, PersistentVolumeClaim
from bot.cluster.types.objects import ClusterObject, Job, Pod, has_condition
from bot.datasets import pods
from bot.datasets.caches.decide import CacheObserved
from bot.datasets.caches.job import LAYOUT
from bot.datasets.caches.tables import ENDS, Cache, CachePhase
from bot.datasets.saying import Said, last_progress, last_said


def observe(cluster: Cluster, cache: Cache) -> CacheObserved:
    """What the cluster shows of a cache; ClusterError if a read fails."""
    claim = cluster.get(PVCS, cache.claim_name, cache.namespace)
    job = cluster.get(JOBS, cache.job_name, cache.namespace)
    has_ended = cache.phase in ENDS
    if claim is not None and not is_ours(claim, cache, cache.claim_uid, cluster.installation):
        if not has_ended:
            return CacheObserved(taken=f"PVC {cache.claim_name}")
        claim = None
    if job is not None and not is_ours(job, cache, cache.job_uid, cluster.installation):
        # What is filled needs no Job, so whose that is does not matter then.
        if not has_ended and cache.phase != CachePhase.READY:
            return CacheObserved(taken=f"Job {cache.job_name}")
        job = None
    if has_ended:
        return CacheObserved(
            claim, job, volume=volume_of(cluster, cache) if claim is None else None
        )
    if cache.phase == CachePhase.READY or claim is None or job is None:
        return CacheObserved(claim, job)
    return _filling(cluster, cache, claim, job)


def _filling(
    cluster: Cluster, cache: Cache, claim: PersistentVolumeClaim, job: Job
) -> CacheObserved:
    found = cluster.list(PODS, cache.namespace, labels=f"{labels.DATASET_CACHE}={cache.id}")
    is_complete = has_condition(job.status.conditions, "Complete")
    log_pods = _log_pods(found, is_complete=is_complete)
    is_running = any(pods.is_running(each) for each in log_pods)
    begun = [each for each in map(pods.started_at, log_pods) if each is not None]
    return CacheObserved(
        claim,
        job,
        is_running=is_running,
        started_at=min(begun, default=None),
        said=_together(cluster, log_pods, job.spec.completions or 1),
        obstacle="" if is_running or is_complete else _obstacle(cluster, claim, job, found),
    )


def _log_pods(found: Iterable[Pod], *, is_complete: bool) -> list[Pod]:
    """For each shard the pod whose output counts."""
    shards = defaultdict(list)
    for pod in found:
        shards[pod.metadata.annotations.get(labels.INDEX, "0")].append(pod)
    chosen = (pods.speaker(each, is_complete=is_complete) for each in shards.values())
    return [each for each in chosen if each is not None]


def _together(cluster: Cluster, log_pods: Sequence[Pod], shards: int) -> Said | None:
    """The output of all pods combined into one; a failure of any counts first."""
    last, counts = [], []
    for pod in log_pods:
        lines = pods.last_lines(cluster, pod)
        said = last_said(lines)
        if said is not None:
            last.append(said)
            counts.append(last_progress(lines) or said)
    failed = next((each for each in last if each.event == "failed"), None)
    if failed is not None:
        return failed
    done = [each for each in last if each.event == "done"]
    if len(done) == shards:
        return _done(done)
    return _progress(last, counts) if last else None


def _summed(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    found = Counter[str]()
    for each in counts:
        found.update(each)
    return dict(found)


def _done(done: Sequence[Said]) -> Said:
    finisher = next((each for each in done if each.ready), done[0])
    digests = {each.digest for each in done}
    return Said(
        "done",
        phase=finisher.phase,
        digest=finisher.digest if len(digests) == 1 else "several versions",
        objects=finisher.objects,
        bytes=finisher.bytes,
        copied_files=sum(each.copied_files for each in done),
        verified_by=_summed(each.verified_by for each in done),
        verified_bytes=_summed(each.verified_bytes for each in done),
        ready=finisher.ready,
        files=next((each.files for each in done if each.files), ""),
    )


def _progress(last: Sequence[Said], counts: Sequence[Said]) -> Said:
    going_on = [each for each in last if each.event == "progress"]
    rates = [each.bytes_per_second for each in going_on if each.bytes_per_second is not None]
    return Said(
        "progress",
        phase=(going_on or last)[0].phase,
        files_done=sum(each.files_done for each in counts),
        bytes_done=sum(each.bytes_done for each in counts),
        bytes_per_second=sum(rates) if rates else None,
    )


def _obstacle(
    cluster: Cluster, claim: PersistentVolumeClaim, job: Job, found: Sequence[Pod]
) -> str:
    """Why the volume or a pod does not exist yet, as the driver or Kubernetes reports it."""
    if claim.status.phase == "Pending":
        said = pods.warning(cluster, claim.namespace, claim.uid)
        if said:
            return said.replace("Kubernetes warns", "Its volume is not created", 1)
    is_layout = job.labels.get(labels.ROLE) == LAYOUT
    last_words = _last_words(cluster, found) if is_layout else ""
    return last_words or pods.obstacle(cluster, found)


def _last_words(cluster: Cluster, found: Sequence[Pod]) -> str:
    """The exit code and last output of a layout that failed; empty if none did."""
    for pod in found:
        for status in pod.status.init_container_statuses:
            end = status.state.terminated
            if end is not None and end.exit_code:
                text = pods.tail(cluster, pod, LAYOUT)
                said = f" Its last output: {text}" if text else ""
                return f"It exited with code {end.exit_code}.{said}"
    return ""


def volume_of(cluster: Cluster, cache: Cache) -> PersistentVolume | None:
    """The volume of a cache, unless it has been bound to another PVC since."""
    if not cache.volume_name:
        return None
    place = (cache.namespace, cache.claim_name)
    for volume in cluster.list(VOLUMES, fields=f"metadata.name={cache.volume_name}"):
        owner = volume.spec.claim_ref
        if owner is not None and (owner.namespace, owner.name) == place:
            return volume
    return None


def is_ours(object_: ClusterObject, cache: Cache, uid: str | None, installation: str) -> bool:
    """Whether this installation created an object for a cache; a known uid must match."""
    marks = {labels.DATASET_CACHE: cache.id, labels.INSTALLATION: installation}
    return marks.items() <= object_.labels.items() and uid in {None, object_.uid}
