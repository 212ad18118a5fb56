"""Kueue's objects in one model, whichever of v1beta2 and v1beta1 the cluster serves.

Where the versions name a field differently, both names are read and one property answers.
"""

from collections.abc import Mapping
from decimal import Decimal

import msgspec

from bot.cluster import labels
from bot.cluster.types.objects import (
    ClusterObject,
    Condition,
    ObjectPart,
    PodTemplate,
    StatusMessage,
    Taint,
)
from bot.cluster.types.quantities import Quantity


class ResourceQuota(ObjectPart, frozen=True, kw_only=True):
    """What a queue or cohort may use of one resource of one flavor."""

    name: str = ""
    nominal_quota: Quantity = Quantity.of(0)
    borrowing_limit: Quantity | None = None
    lending_limit: Quantity | None = None


class FlavorQuotas(ObjectPart, frozen=True, kw_only=True):
    """The quotas of one flavor."""

    name: str = ""
    resources: tuple[ResourceQuota, ...] = ()


class ResourceGroup(ObjectPart, frozen=True, kw_only=True):
    """Resources that are always taken from the same flavor."""

    covered_resources: tuple[str, ...] = ()
    flavors: tuple[FlavorQuotas, ...] = ()


class ResourceUsage(ObjectPart, frozen=True, kw_only=True):
    """How much of one resource is taken; `borrowed` is the part above the nominal quota."""

    name: str = ""
    total: Quantity = Quantity.of(0)
    borrowed: Quantity = Quantity.of(0)


class FlavorUsage(ObjectPart, frozen=True, kw_only=True):
    """How much of one flavor is taken."""

    name: str = ""
    resources: tuple[ResourceUsage, ...] = ()


class FairSharing(ObjectPart, frozen=True, kw_only=True):
    """A queue's weight when surplus is shared."""

    weight: Quantity | None = None


class BorrowWithinCohort(ObjectPart, frozen=True, kw_only=True):
    """Whether a queue that borrows may preempt others."""

    policy: str = "Never"
    max_priority_threshold: int | None = None


class Preemption(ObjectPart, frozen=True, kw_only=True):
    """Which queues' workloads a queue may preempt."""

    reclaim_within_cohort: str = "Never"
    within_cluster_queue: str = "Never"
    borrow_within_cohort: BorrowWithinCohort | None = None


class AdmissionCheckRule(ObjectPart, frozen=True, kw_only=True):
    """An admission check that a ClusterQueue names."""

    name: str = ""


class AdmissionChecksStrategy(ObjectPart, frozen=True, kw_only=True):
    """The admission checks of a ClusterQueue."""

    admission_checks: tuple[AdmissionCheckRule, ...] = ()


class ClusterQueueSpec(ObjectPart, frozen=True, kw_only=True):
    """What a ClusterQueue may use."""

    cohort_name: str = ""
    cohort_v1beta1: str = msgspec.field(default="", name="cohort")
    resource_groups: tuple[ResourceGroup, ...] = ()
    queueing_strategy: str = "BestEffortFIFO"
    stop_policy: str = "None"
    preemption: Preemption = Preemption()
    fair_sharing: FairSharing | None = None
    admission_checks_strategy: AdmissionChecksStrategy = AdmissionChecksStrategy()
    admission_checks_v1beta1: tuple[str, ...] = msgspec.field(default=(), name="admissionChecks")

    @property
    def admission_checks(self) -> tuple[str, ...]:
        """The names of its admission checks."""
        rules = self.admission_checks_strategy.admission_checks
        return (*(each.name for each in rules), *self.admission_checks_v1beta1)

    @property
    def cohort(self) -> str:
        """The cohort it borrows from, empty when it has none."""
        return self.cohort_name or self.cohort_v1beta1


class ClusterQueueStatus(ObjectPart, frozen=True, kw_only=True):
    """What a ClusterQueue uses; `flavors_usage` counts admitted workloads only."""

    flavors_usage: tuple[FlavorUsage, ...] = ()
    flavors_reservation: tuple[FlavorUsage, ...] = ()
    pending_workloads: int = 0
    reserving_workloads: int = 0
    admitted_workloads: int = 0
    conditions: tuple[Condition, ...] = ()


class ClusterQueue(ClusterObject, frozen=True, kw_only=True):
    """A ClusterQueue: what a team may use."""

    spec: ClusterQueueSpec = ClusterQueueSpec()
    status: ClusterQueueStatus = ClusterQueueStatus()


class LocalQueueSpec(ObjectPart, frozen=True, kw_only=True):
    """The ClusterQueue of a LocalQueue."""

    cluster_queue: str = ""
    stop_policy: str = "None"


class LocalQueueStatus(ObjectPart, frozen=True, kw_only=True):
    """The status of a LocalQueue."""

    flavors_usage_v1beta2: tuple[FlavorUsage, ...] = msgspec.field(default=(), name="flavorsUsage")
    flavors_usage_v1beta1: tuple[FlavorUsage, ...] = msgspec.field(default=(), name="flavorUsage")
    flavors_reservation: tuple[FlavorUsage, ...] = ()
    pending_workloads: int = 0
    reserving_workloads: int = 0
    admitted_workloads: int = 0
    conditions: tuple[Condition, ...] = ()

    @property
    def flavors_usage(self) -> tuple[FlavorUsage, ...]:
        """What its admitted workloads use."""
        return self.flavors_usage_v1beta2 or self.flavors_usage_v1beta1


class LocalQueue(ClusterObject, frozen=True, kw_only=True):
    """A LocalQueue: a namespace's queue that leads to a ClusterQueue."""

    spec: LocalQueueSpec = LocalQueueSpec()
    status: LocalQueueStatus = LocalQueueStatus()


class CohortSpec(ObjectPart, frozen=True, kw_only=True):
    """A cohort's parent, and what it owns beyond its queues."""

    parent_name: str = ""
    parent_v1alpha1: str = msgspec.field(default="", name="parent")
    resource_groups: tuple[ResourceGroup, ...] = ()

    @property
    def parent(self) -> str:
        """The cohort above, empty at the top."""
        return self.parent_name or self.parent_v1alpha1


class Cohort(ClusterObject, frozen=True, kw_only=True):
    """A cohort: queues that lend to each other. It works without having an object."""

    spec: CohortSpec = CohortSpec()


class Toleration(ObjectPart, frozen=True, kw_only=True):
    """A toleration, which lets pods run on nodes with a taint."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class ResourceFlavorSpec(ObjectPart, frozen=True, kw_only=True):
    """The nodes of a flavor."""

    node_labels: Mapping[str, str] = {}
    node_taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()


class ResourceFlavor(ClusterObject, frozen=True, kw_only=True):
    """A kind of node."""

    spec: ResourceFlavorSpec = ResourceFlavorSpec()


class AdmissionCheckSpec(ObjectPart, frozen=True, kw_only=True):
    """Who decides on an admission check."""

    controller_name: str = ""


class AdmissionCheck(ClusterObject, frozen=True, kw_only=True):
    """A condition of another controller, which work needs beside quota."""

    spec: AdmissionCheckSpec = AdmissionCheckSpec()


class WorkloadPriorityClass(ClusterObject, frozen=True, kw_only=True):
    """A named priority; the higher value goes first."""

    value: int = 0
    description: str = ""


class PodSet(ObjectPart, frozen=True, kw_only=True):
    """Equal pods of a workload."""

    name: str = "main"
    count: int = 1
    min_count: int | None = None
    template: PodTemplate = PodTemplate()

    def requested(self, resource: str) -> Decimal:
        """How much of a resource all its pods request together."""
        return self.template.spec.requested(resource) * self.count


class PriorityClassRef(ObjectPart, frozen=True, kw_only=True):
    """Where a workload's priority comes from."""

    kind: str = ""
    name: str = ""


class WorkloadSpec(ObjectPart, frozen=True, kw_only=True):
    """What a workload wants; Kueue stops it when `active` is false."""

    queue_name: str = ""
    active: bool = True
    priority: int = 0
    priority_class_ref: PriorityClassRef | None = None
    priority_class_v1beta1: str = msgspec.field(default="", name="priorityClassName")
    maximum_execution_time_seconds: int | None = None
    pod_sets: tuple[PodSet, ...] = ()

    @property
    def priority_class(self) -> str:
        """The name of its priority class, empty when it has none."""
        return (
            self.priority_class_ref.name if self.priority_class_ref else self.priority_class_v1beta1
        )


class PodSetAssignment(ObjectPart, frozen=True, kw_only=True):
    """The assignment of one pod set: flavor and amount per resource."""

    name: str = "main"
    count: int = 0
    flavors: Mapping[str, str] = {}
    resource_usage: Mapping[str, Quantity] = {}


class Admission(ObjectPart, frozen=True, kw_only=True):
    """Where a workload's quota was reserved."""

    cluster_queue: str = ""
    pod_set_assignments: tuple[PodSetAssignment, ...] = ()


class RequeueState(ObjectPart, frozen=True, kw_only=True):
    """How often an evicted workload went back to its queue."""

    count: int = 0


class AdmissionCheckState(StatusMessage, frozen=True, kw_only=True):
    """The state of an admission check of a workload: Pending, Ready, Retry or Rejected."""

    name: str = ""
    state: str = "Pending"


class WorkloadStatus(ObjectPart, frozen=True, kw_only=True):
    """The status of a workload."""

    conditions: tuple[Condition, ...] = ()
    admission: Admission | None = None
    requeue_state: RequeueState | None = None
    admission_checks: tuple[AdmissionCheckState, ...] = ()


class Workload(ClusterObject, frozen=True, kw_only=True):
    """A Kueue Workload: one for each Job, or other kind, that names a LocalQueue."""

    spec: WorkloadSpec = WorkloadSpec()
    status: WorkloadStatus = WorkloadStatus()

    @property
    def job_uid(self) -> str:
        """The uid of the object it stands for, empty when Kueue did not say."""
        return self.labels.get(labels.JOB_UID, "")

    def requested(self, resource: str) -> Decimal:
        """How much of a resource it wants in all."""
        return sum((pods.requested(resource) for pods in self.spec.pod_sets), Decimal(0))


class PendingWorkload(ClusterObject, frozen=True, kw_only=True):
    """A workload's place in its queues; 0 is next."""

    priority: int = 0
    local_queue_name: str = ""
    position_in_cluster_queue: int = 0
    position_in_local_queue: int = 0
