"""What KAI Scheduler's controllers do, done by a test: PodGroups, places, and who uses what."""

from datetime import UTC, datetime

from playground.cluster.kai_story import ABOVE, PRIORITIES, queue
from playground.cluster.objects import schemas
from playground.cluster.story import GPU, TEAMS
from tests.bot.quotas.engines.kai_objects import unplaced
from tests.cluster.api import Api, Object, wait_for
from tests.cluster.site import JOBS, Site

QUEUES, POD_GROUPS = "queues.scheduling.run.ai", "podgroups.scheduling.run.ai"
_DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
_ANY: Object = {"quota": -1, "limit": -1, "overQuotaWeight": 1}


def furnish(site: Site) -> None:
    """Adds KAI's kinds, the teams' Queues below one, and the priorities that come with KAI."""
    for resource in (QUEUES, POD_GROUPS):
        body = schemas.custom_resources()[resource]
        site.add(_DEFINITIONS, body)
        wait_for(lambda: site.api.serves(resource), resource)  # noqa: B023  # it is called before the next turn
    for name, value in PRIORITIES.items():
        body = {"metadata": {"name": name}, "value": value}
        site.add("priorityclasses.scheduling.k8s.io", body)
    site.add(QUEUES, queue(ABOVE, gpu=_ANY, parent=""))
    for team, gpus in TEAMS.items():
        site.add_namespace(team)
        site.let_bot_into(team)
        share = {"quota": int(gpus), "limit": -1, "overQuotaWeight": int(gpus)}
        site.add(QUEUES, queue(team, gpu=share))


class Hand:
    """Does for the runs of one team what KAI would."""

    def __init__(self, api: Api, team: str) -> None:
        self._api = api
        self._team = team

    def groups(self, run: str, gpus: int) -> str:
        """Makes the PodGroup of a run's Job, as its podgrouper does; the PodGroup's name."""
        job = wait_for(lambda: self._job(run), f"the Job of {run}")
        assert job is not None
        metadata = job["metadata"]
        owner = {"apiVersion": "batch/v1", "kind": "Job"}
        owner |= {"name": metadata["name"], "uid": metadata["uid"]}
        name = f"pg-{metadata['name']}-{metadata['uid']}"
        body = {
            "metadata": {"name": name, "labels": metadata["labels"], "ownerReferences": [owner]},
            "spec": {"queue": self._team, "minMember": 1, "priorityClassName": "train"},
        }
        self._api.create(POD_GROUPS, body, self._team, fieldValidation="Strict")
        self._stands(name, {"requested": {GPU: str(gpus)}})
        return name

    def leaves_waiting(self, group: str, reason: str, message: str) -> None:
        """Says that its pods have no places, and why."""
        condition = unplaced(reason, message)
        condition["lastTransitionTime"] = _now()
        change = {"status": {"schedulingConditions": [condition]}}
        self._api.patch(POD_GROUPS, group, change, self._team, "status")

    def places(self, run: str, group: str, gpus: int, node: str) -> None:
        """Binds its pod to a node, and counts its GPUs as used."""
        pod = wait_for(lambda: self._pod(run), f"the pod of {run}")
        assert pod is not None
        name = pod["metadata"]["name"]
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}}
        path = f"/api/v1/namespaces/{self._team}/pods/{name}/binding"
        self._api.ask("POST", path, json={**body, "target": target})
        amounts = {GPU: str(gpus)}
        started = {"metadata": {"annotations": {"kai.scheduler/last-start-timestamp": _now()}}}
        self._api.patch(POD_GROUPS, group, started, self._team)
        self._stands(group, {"requested": amounts, "allocated": amounts}, waits=False)
        self.uses(gpus)

    def uses(self, gpus: int) -> None:
        """Writes what the team's Queue uses."""
        amounts = {GPU: str(gpus)}
        change = {"status": {"allocated": amounts, "requested": amounts}}
        self._api.patch(QUEUES, self._team, change, subresource="status")

    def _stands(self, group: str, resources: Object, *, waits: bool = True) -> None:
        status: Object = {"resourcesStatus": resources}
        if not waits:
            status["schedulingConditions"] = None
        self._api.patch(POD_GROUPS, group, {"status": status}, self._team, "status")

    def _job(self, run: str) -> Object | None:
        jobs = self._api.list(JOBS, self._team)
        return next((each for each in jobs if each["metadata"]["name"].startswith(run)), None)

    def _pod(self, run: str) -> Object | None:
        pods = self._api.list("pods", self._team)
        return next((each for each in pods if each["metadata"]["name"].startswith(run)), None)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
