"""What Kueue itself decides: who may borrow, who waits, and who is preempted for whom."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import pytest

from playground.cluster.story import GPU, cluster_queue, training_job
from tests.cluster.api import Object, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.kwok import POD_SECONDS
from tests.cluster.site import CLUSTER_QUEUES, WORKLOADS, Site

COHORTS, PRIORITIES = "cohorts.kueue.x-k8s.io", "workloadpriorityclasses.kueue.x-k8s.io"
HIGH = "decides-high"
PREEMPTION = ("LessThanOrEqualToFinalShare", "LessThanInitialShare")


@dataclass
class Queues:
    """Teams with queues of one cohort, and Jobs in them that run for an hour."""

    site: Site

    def team(self, gpus: str, cohort: str = "decides", **spec: object) -> str:
        """Adds a team whose ClusterQueue has `spec` besides."""
        name = self.site.add_namespace()
        body = cluster_queue(name, gpus, cohort)
        body["spec"] |= spec
        self.site.add_queue(body)
        return name

    def limit(self, team: str, field: str, gpus: str) -> None:
        """Sets a limit of a team's GPUs."""
        queue = self.site.api.get(CLUSTER_QUEUES, team) or {}
        groups = queue["spec"]["resourceGroups"]
        next(r for r in groups[0]["flavors"][0]["resources"] if r["name"] == GPU)[field] = gpus
        self.site.api.patch(CLUSTER_QUEUES, team, {"spec": {"resourceGroups": groups}})

    def cohort(self, name: str, parent: str = "", **limits: str) -> None:
        """Adds a cohort below another one, whose limits are for GPUs."""
        quota = {"name": GPU, "nominalQuota": "0", **limits}
        groups = [{"coveredResources": [GPU], "flavors": [{"name": "h100", "resources": [quota]}]}]
        spec: Object = {"resourceGroups": groups} if limits else {}
        if parent:
            spec["parentName"] = parent
        self.site.add(COHORTS, {"metadata": {"name": name}, "spec": spec})

    def submit(self, team: str, name: str, gpus: int, priority: str = "") -> None:
        """Creates a Job, and returns when Kueue has its Workload."""
        body = training_job(name, gpus, queue=team, suspend=True)
        body["spec"]["template"].setdefault("metadata", {})["annotations"] = {POD_SECONDS: "1h"}
        if priority:
            body["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = priority
        self.site.job(team, body)
        wait_for(partial(self._workload, team, name), f"the Workload of {name}")

    def next_second(self, team: str, name: str) -> None:
        """Returns in a second after a Job's: Kueue's order has no more than that of the time."""
        created = (self._workload(team, name) or {})["metadata"]["creationTimestamp"]
        wait_for(lambda: f"{datetime.now(UTC):%FT%TZ}" > created, f"a second after that of {name}")

    def is_admitted(self, team: str, name: str) -> bool:
        """Whether Kueue has admitted a Job by now."""
        return self._condition(team, name, "Admitted", "True") is not None

    def runs(self, team: str, name: str) -> None:
        """Returns when a Job is admitted."""
        self._told(team, name, "Admitted", "True")

    def why_waiting(self, team: str, name: str) -> str:
        """The message of Kueue on a Job that has no quota; returns when there is one."""
        return self._told(team, name, "QuotaReserved", "False")["message"]

    def why_preempted(self, team: str, name: str) -> str:
        """The reason for which a Job was preempted; returns when it was."""
        return self._told(team, name, "Preempted", "True")["reason"]

    def gpus(self, team: str) -> tuple[str, str]:
        """The GPUs that a team's queue has reserved, and how many of these are borrowed."""
        queue = self.site.api.get(CLUSTER_QUEUES, team) or {}
        rows = queue["status"]["flavorsReservation"][0]["resources"]
        row = next(row for row in rows if row["name"] == GPU)
        return row["total"], row["borrowed"]

    def _workload(self, team: str, job: str) -> Object | None:
        made = self.site.api.list(WORKLOADS, team)
        named = (w for w in made if w["metadata"]["ownerReferences"][0]["name"] == job)
        return next(named, None)

    def _told(self, team: str, job: str, kind: str, status: str) -> dict[str, str]:
        """A condition of a Job's Workload, once it has this status."""
        found = wait_for(partial(self._condition, team, job, kind, status), f"{kind} of {job}")
        assert found is not None
        return found

    def _condition(self, team: str, job: str, kind: str, status: str) -> Object | None:
        found = (self._workload(team, job) or {}).get("status", {}).get("conditions", ())
        fitting = (each for each in found if (each["type"], each["status"]) == (kind, status))
        return next(fitting, None)


@pytest.fixture
def queues(gpus: None, site: Site) -> Queues:
    del gpus
    site.add(PRIORITIES, {"metadata": {"name": HIGH}, "value": 100})
    return Queues(site)


@pytest.fixture
def fair_sharing(plane: ControlPlane) -> Iterator[None]:
    plane.kueue.configure(fairSharing={"preemptionStrategies": list(PREEMPTION)})
    yield
    plane.kueue.configure()


def test_idle_quota_of_the_cohort_is_borrowed(queues: Queues) -> None:
    own, _ = queues.team("4"), queues.team("8")
    queues.submit(own, "wide", 8)
    queues.runs(own, "wide")
    wait_for(lambda: queues.gpus(own) == ("8", "4"), "the borrowed GPUs")


@pytest.mark.parametrize("limit", ["borrowingLimit", "lendingLimit"])
def test_limits_on_borrowing_make_a_job_wait(queues: Queues, limit: str) -> None:
    own, other = queues.team("4"), queues.team("8")
    queues.limit(own if limit == "borrowingLimit" else other, limit, "2")
    queues.submit(own, "wide", 8)
    assert queues.why_waiting(own, "wide").endswith("(8) > maximum capacity (6)")
    queues.submit(own, "less", 6)
    queues.runs(own, "less")


def test_priority_alone_keeps_no_borrowed_gpus(queues: Queues) -> None:
    own, other = queues.team("4"), queues.team("4")
    queues.submit(own, "session", 6, HIGH)
    queues.runs(own, "session")
    queues.submit(other, "training", 4)
    assert queues.why_preempted(own, "session") == "InCohortReclamation"


def test_owner_preempts_whoever_borrows_its_quota(queues: Queues) -> None:
    own, other = queues.team("4"), queues.team("8")
    queues.submit(own, "wide", 8)
    queues.runs(own, "wide")
    queues.submit(other, "owner", 8)
    assert queues.why_preempted(own, "wide") == "InCohortReclamation"
    queues.runs(other, "owner")
    assert queues.why_waiting(own, "wide")


def test_borrower_waits_for_what_owners_use(queues: Queues) -> None:
    own, other = queues.team("4"), queues.team("8")
    queues.submit(other, "owner", 8)
    queues.runs(other, "owner")
    queues.submit(own, "wide", 8)
    assert queues.why_waiting(own, "wide").endswith("flavor h100, 4 more needed")


def test_higher_priority_preempts_in_its_own_queue(queues: Queues) -> None:
    team = queues.team("4")
    queues.submit(team, "usual", 4)
    queues.runs(team, "usual")
    queues.submit(team, "urgent", 4, HIGH)
    assert queues.why_preempted(team, "usual") == "InClusterQueue"
    queues.runs(team, "urgent")


def test_borrower_may_preempt_lower_priority_where_allowed(queues: Queues) -> None:
    borrowing = {"policy": "LowerPriority", "maxPriorityThreshold": 50}
    allowed = {"reclaimWithinCohort": "Any", "borrowWithinCohort": borrowing}
    own, other, _ = queues.team("2", preemption=allowed), queues.team("2"), queues.team("2")
    queues.submit(other, "lent", 4)
    queues.runs(other, "lent")
    queues.submit(own, "urgent", 4, HIGH)
    assert queues.why_preempted(other, "lent") == "InCohortReclaimWhileBorrowing"
    queues.runs(own, "urgent")


@pytest.mark.parametrize("strategy", ["StrictFIFO", "BestEffortFIFO"])
def test_strict_order_alone_holds_small_jobs_back(queues: Queues, strategy: str) -> None:
    team = queues.team("4", queueingStrategy=strategy)
    queues.submit(team, "first", 2)
    queues.runs(team, "first")
    queues.submit(team, "large", 4)
    queues.why_waiting(team, "large")
    queues.next_second(team, "large")
    queues.submit(team, "small", 2)
    if strategy == "BestEffortFIFO":
        queues.runs(team, "small")
        return
    # Admitted, it would be before a Job of another team that comes later.
    later = queues.team("1", cohort="decides-later")
    queues.submit(later, "later", 1)
    queues.runs(later, "later")
    assert not queues.is_admitted(team, "small")


def test_cohort_lends_no_more_than_its_limit(queues: Queues) -> None:
    queues.cohort("decides-all")
    queues.cohort("decides-left", "decides-all")
    queues.cohort("decides-right", "decides-all", lendingLimit="1")
    own, _ = queues.team("4", "decides-left"), queues.team("4", "decides-right")
    queues.submit(own, "wide", 8)
    assert queues.why_waiting(own, "wide").endswith("> maximum capacity (5)")
    queues.submit(own, "less", 5)
    queues.runs(own, "less")


@pytest.mark.usefixtures("fair_sharing")
def test_heavier_team_gets_more_when_both_borrow(queues: Queues) -> None:
    light = queues.team("0", fairSharing={"weight": "1"})
    heavy = queues.team("0", fairSharing={"weight": "3"})
    queues.team("8")
    for number in range(4):
        queues.submit(light, f"light-{number}", 2)
        queues.runs(light, f"light-{number}")
    for number in range(4):
        queues.submit(heavy, f"heavy-{number}", 2)
    wait_for(lambda: queues.gpus(heavy) == ("6", "6"), "three quarters for the heavier team")
    wait_for(lambda: queues.gpus(light) == ("2", "2"), "a quarter for the lighter one")
