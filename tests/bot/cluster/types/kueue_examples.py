"""A ClusterQueue and a Workload as each of Kueue's versions writes them."""

from typing import Any

GPU = "nvidia.com/gpu"
COHORT = {"v1beta1": {"cohort": "gpus"}, "v1beta2": {"cohortName": "gpus"}}
PRIORITY: dict[str, dict[str, object]] = {
    "v1beta1": {
        "priorityClassName": "interactive",
        "priorityClassSource": "kueue.x-k8s.io/workloadpriorityclass",
    },
    "v1beta2": {
        "priorityClassRef": {
            "group": "kueue.x-k8s.io",
            "kind": "WorkloadPriorityClass",
            "name": "interactive",
        }
    },
}
QUOTAS = [
    {"name": GPU, "nominalQuota": 4, "borrowingLimit": "8", "lendingLimit": "2"},
    {"name": "memory", "nominalQuota": "4Ti"},
]
OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "lane", "uid": "uid-lane"}
CONTAINER = {"name": "main", "resources": {"requests": {GPU: "2", "memory": "64Gi"}}}
ASSIGNED = {"name": "main", "count": 3, "flavors": {GPU: "h100"}, "resourceUsage": {GPU: 6}}


def cluster_queue(version: str) -> dict[str, Any]:
    flavor = {"name": "h100", "resources": QUOTAS}
    return {
        "metadata": {"name": "team-a", "annotations": {"quartermaster.dev/override": "{}"}},
        "spec": {
            **COHORT[version],
            "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
            "fairSharing": {"weight": "4"},
            "resourceGroups": [{"coveredResources": [GPU, "memory"], "flavors": [flavor]}],
        },
        "status": {
            "flavorsUsage": usage("6", borrowed=2),
            "flavorsReservation": usage("6", borrowed="2"),
            "pendingWorkloads": 3,
            "reservingWorkloads": 2,
            "admittedWorkloads": 2,
            "conditions": [condition("Active", "True")],
        },
    }


def queued_workload(version: str) -> dict[str, Any]:
    pods = {"name": "main", "count": 3, "template": {"spec": {"containers": [CONTAINER]}}}
    return {
        "metadata": {
            "name": "job-lane",
            "namespace": "team-a",
            "labels": {"kueue.x-k8s.io/job-uid": "uid-lane"},
            "ownerReferences": [OWNER],
        },
        "spec": {
            "queueName": "team-a",
            "priority": 1000,
            "active": False,
            **PRIORITY[version],
            "podSets": [pods],
        },
        "status": {
            "conditions": [condition("QuotaReserved", "True"), condition("Admitted", "False")],
            "admission": {"clusterQueue": "team-a", "podSetAssignments": [ASSIGNED]},
            "requeueState": {"count": 2},
        },
    }


def usage(total: object, **more: object) -> list[dict[str, object]]:
    return [{"name": "h100", "resources": [{"name": GPU, "total": total, **more}]}]


def condition(type_: str, value: str) -> dict[str, str]:
    return {
        "type": type_,
        "status": value,
        "reason": type_,
        "message": "",
        "lastTransitionTime": "2026-11-21T05:00:00Z",
    }
