"""Kueue's two versions read as one model, from objects that their own schemas accept."""

from decimal import Decimal
from typing import Any

import msgspec
import pytest

from bot.cluster.api.answers import decode
from bot.cluster.resources import (
    CLUSTER_QUEUES,
    COHORTS,
    LOCAL_QUEUES,
    PRIORITY_CLASSES,
    RESOURCE_FLAVORS,
    WORKLOADS,
    Resource,
)
from bot.cluster.types.objects import ClusterObject, has_condition
from bot.cluster.types.queues import ClusterQueue, Cohort, LocalQueue, ResourceFlavor, Workload
from tests.bot.cluster.types.kueue_examples import GPU, cluster_queue, queued_workload, usage
from tests.schemas import fits_custom

VERSIONS = ["v1beta1", "v1beta2"]

either = pytest.mark.parametrize("version", VERSIONS)


def read(resource: Resource[Any], version: str, body: dict[str, Any]) -> ClusterObject:
    fits_custom(body, f"{resource.plural}.{resource.group}", version)
    found: ClusterObject = decode(msgspec.json.encode(body), resource.type, "Reading")
    return found


@either
def test_a_cluster_queue_reads_the_same(version: str) -> None:
    queue = read(CLUSTER_QUEUES, version, cluster_queue(version))
    assert isinstance(queue, ClusterQueue)
    assert queue.spec.cohort == "gpus"
    group = queue.spec.resource_groups[0]
    assert group.covered_resources == (GPU, "memory")
    gpus, ram = group.flavors[0].resources
    limits = [gpus.nominal_quota, gpus.borrowing_limit, gpus.lending_limit]
    assert limits == [Decimal(4), Decimal(8), Decimal(2)]
    assert (gpus.nominal_quota.raw, ram.nominal_quota.raw) == (4, "4Ti")
    assert (ram.nominal_quota, ram.borrowing_limit) == (Decimal(4 * 2**40), None)
    used = queue.status.flavors_usage[0].resources[0]
    assert [used.total, used.borrowed] == [Decimal(6), Decimal(2)]
    assert used.name == GPU
    assert queue.status.flavors_reservation == queue.status.flavors_usage
    assert (queue.status.pending_workloads, queue.status.admitted_workloads) == (3, 2)
    assert has_condition(queue.status.conditions, "Active")
    assert queue.spec.preemption.reclaim_within_cohort == "Any"
    assert queue.metadata.annotations == {"quartermaster.dev/override": "{}"}


@either
def test_a_local_queue_reads_the_same(version: str) -> None:
    used = "flavorUsage" if version == "v1beta1" else "flavorsUsage"
    body = {
        "metadata": {"name": "team-a", "namespace": "team-a"},
        "spec": {"clusterQueue": "team-a"},
        "status": {used: usage("2"), "flavorsReservation": usage("3"), "pendingWorkloads": 1},
    }
    queue = read(LOCAL_QUEUES, version, body)
    assert isinstance(queue, LocalQueue)
    assert queue.spec.cluster_queue == "team-a"
    assert queue.status.flavors_usage[0].resources[0].total == 2
    assert queue.status.flavors_reservation[0].resources[0].total == 3


@either
def test_a_workload_reads_the_same(version: str) -> None:
    workload = read(WORKLOADS, version, queued_workload(version))
    assert isinstance(workload, Workload)
    assert (workload.spec.queue_name, workload.spec.priority) == ("team-a", 1000)
    assert (workload.spec.active, workload.spec.priority_class) == (False, "interactive")
    assert (workload.job_uid, workload.metadata.owner_references[0].uid) == ("uid-lane",) * 2
    requested = [workload.requested(each) for each in (GPU, "cpu", "memory")]
    assert requested == [Decimal(6), Decimal(0), Decimal(3 * 64 * 2**30)]
    admission = workload.status.admission
    assert admission is not None
    assert admission.cluster_queue == "team-a"
    assert admission.pod_set_assignments[0].flavors == {GPU: "h100"}
    assert admission.pod_set_assignments[0].resource_usage == {GPU: 6}
    assert has_condition(workload.status.conditions, "QuotaReserved")
    assert not has_condition(workload.status.conditions, "Admitted")
    assert not has_condition(workload.status.conditions, "Evicted")


@either
def test_cohorts_flavors_and_priorities_read_the_same(version: str) -> None:
    cohort = read(COHORTS, version, {"metadata": {"name": "a"}, "spec": {"parentName": "root"}})
    flavor = read(
        RESOURCE_FLAVORS,
        version,
        {"metadata": {"name": "h100"}, "spec": {"nodeLabels": {"gpu": "h100"}}},
    )
    priority = read(PRIORITY_CLASSES, version, {"metadata": {"name": "high"}, "value": 1000})
    assert isinstance(cohort, Cohort)
    assert isinstance(flavor, ResourceFlavor)
    assert cohort.spec.parent == "root"
    assert flavor.spec.node_labels == {"gpu": "h100"}
    assert getattr(priority, "value", None) == 1000


def test_a_workload_without_anything_has_defaults() -> None:
    workload = decode(b'{"metadata": {"name": "w"}}', Workload, "Reading")
    assert workload.spec.active
    assert (workload.spec.priority_class, workload.job_uid) == ("", "")
    assert workload.status.admission is None
