"""JobSets: several Jobs that start, rest and end together."""

from collections.abc import Iterable
from typing import Any

from playground.cluster.control.world import World
from playground.cluster.objects.conditions import condition, is_true, set_condition
from playground.cluster.objects.jobs import finished
from playground.cluster.objects.kinds import JOB, JOB_SET, SERVICE, Object
from playground.cluster.objects.store import Change, Key, key_of
from playground.cluster.operators.replicas import create, write

SOURCE = "jobset"
NAME, ROLE, INDEX = (f"jobset.sigs.k8s.io/{part}" for part in ("jobset-name", "replicatedjob-name",
                                                                "job-index"))  # fmt: skip
_DONE = ("AllJobsCompleted", "jobset completed successfully")
_RESTS = ("SuspendedJobs", "jobset is suspended")
_RESUMES = ("ResumeJobs", "jobset is resumed")


class JobSets:
    """Runs JobSets; a failed Job ends its JobSet (restarts are not played)."""

    def __init__(self, world: World) -> None:
        self._world = world

    def wants(self, change: Change) -> Iterable[Key]:
        """JobSets that changed, and those whose Jobs did."""
        if change.kind == JOB_SET.qualified and change.type != "DELETED":
            yield change.key
        elif change.kind == JOB.qualified:
            for owner in change.obj["metadata"].get("ownerReferences", ()):
                if owner["kind"] == JOB_SET.kind:
                    yield change.key[0], owner["name"]

    def reconcile(self, key: Key) -> None:
        """Brings a JobSet one look further."""
        jobs = self._world.store.edit(JOB_SET, *key)
        if jobs is None or jobs["metadata"].get("deletionTimestamp"):
            return
        jobs.setdefault("status", {})
        if not _over(jobs):
            create(self._world, JOB_SET, jobs, SERVICE, _service(jobs))
            for row in jobs["spec"]["replicatedJobs"]:
                for number in range(row.get("replicas", 1)):
                    self._align(jobs, row, number)
            self._suspended(jobs)
        self._count(jobs)
        write(self._world, JOB_SET, jobs, lambda _obj: None)

    def _align(self, jobs: Object, row: dict[str, Any], number: int) -> None:
        """Creates a Job where its turn has come; suspends and resumes it with its JobSet."""
        rests = bool(jobs["spec"].get("suspend"))
        body = _job(jobs, row, number, rests=rests)
        found = self._world.store.get(JOB, *_place(jobs, body))
        if found is None:
            if self._may_start(jobs, row):
                create(self._world, JOB_SET, jobs, JOB, body)
            return
        if finished(found) or found["spec"]["suspend"] == rests:
            return
        wanted = body["spec"]["template"]["spec"]

        def edit(obj: Object) -> None:
            obj["spec"]["suspend"] = rests
            obj["metadata"]["generation"] += 1
            pods = obj["spec"]["template"]["spec"]
            for name in ("nodeSelector", "tolerations") if not rests else ():
                pods.pop(name, None)
                pods |= {name: wanted[name]} if wanted.get(name) else {}

        self._world.change(JOB, key_of(found), edit)

    def _may_start(self, jobs: Object, row: dict[str, Any]) -> bool:
        """Whether those that a replicated Job depends on have come far enough."""
        for needed in row.get("dependsOn") or ():
            found = self._of(jobs, needed["name"])
            if needed["status"] == "Complete":
                met = [finished(job) == "Complete" for job in found]
            else:
                met = [_is_ready(job) for job in found]
            if not found or not all(met):
                return False
        return True

    def _of(self, jobs: Object, name: str) -> list[Object]:
        owned = self._world.store.owned_by(jobs["metadata"]["uid"], JOB)
        return [job for _, job in owned if job["metadata"]["labels"].get(ROLE) == name]

    def _suspended(self, jobs: Object) -> None:
        rests = bool(jobs["spec"].get("suspend"))
        if rests != is_true(jobs, "Suspended") and (rests or condition(jobs, "Suspended")):
            why = _RESTS if rests else _RESUMES
            set_condition(jobs, "Suspended", status=rests, why=why, now=self._world.now)
            self._world.record(JOB_SET, jobs, why, SOURCE)

    def _count(self, jobs: Object) -> None:
        rows = jobs["spec"]["replicatedJobs"]
        found = {row["name"]: self._of(jobs, row["name"]) for row in rows}
        jobs["status"]["replicatedJobsStatus"] = [_row(name, mine) for name, mine in found.items()]
        if _over(jobs):
            return
        policy = jobs["spec"].get("successPolicy") or {}
        wanted = policy.get("targetReplicatedJobs") or list(found)
        missing = [row for row in rows if len(found[row["name"]]) < row.get("replicas", 1)]
        done = [finished(job) == "Complete" for name in wanted for job in found[name]]
        failed = any(finished(job) == "Failed" for mine in found.values() for job in mine)
        late = any(row["name"] in wanted for row in missing)
        if failed:
            first = next(j for m in found.values() for j in m if finished(j) == "Failed")
            name = first["metadata"]["name"]
            words = f"jobset failed due to one or more job failures (first failed job: {name})"
            self._end(jobs, found, "Failed", ("FailedJobs", words))
        elif done and not late and (all(done) or (policy.get("operator") == "Any" and any(done))):
            self._end(jobs, found, "Completed", _DONE)

    def _end(
        self, jobs: Object, found: dict[str, list[Object]], kind: str, why: tuple[str, str]
    ) -> None:
        set_condition(jobs, kind, status=True, why=why, now=self._world.now)
        jobs["status"]["terminalState"] = kind
        self._world.record(JOB_SET, jobs, why, SOURCE, warning=kind == "Failed")
        for job in (job for mine in found.values() for job in mine):
            if not finished(job):
                self._world.deletion.delete(JOB, key_of(job))


def _over(jobs: Object) -> bool:
    return is_true(jobs, "Completed") or is_true(jobs, "Failed")


def _place(jobs: Object, body: Object) -> Key:
    return jobs["metadata"]["namespace"], body["metadata"]["name"]


def _is_ready(job: Object) -> bool:
    status = job["status"]
    wanted = min(job["spec"]["parallelism"], job["spec"].get("completions") or 1)
    return bool(status.get("ready", 0) + status.get("succeeded", 0) >= wanted)


def _row(name: str, jobs: list[Object]) -> dict[str, Any]:
    return {
        "name": name,
        "ready": sum(_is_ready(job) and not finished(job) for job in jobs),
        "succeeded": sum(finished(job) == "Complete" for job in jobs),
        "failed": sum(finished(job) == "Failed" for job in jobs),
        "active": sum(bool(job["status"].get("active")) for job in jobs),
        "suspended": sum(bool(job["spec"].get("suspend")) for job in jobs),
    }


def _service(jobs: Object) -> Object:
    name = (jobs["spec"].get("network") or {}).get("subdomain") or jobs["metadata"]["name"]
    selector = {NAME: jobs["metadata"]["name"]}
    spec = {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": selector}
    return {"metadata": {"name": name}, "spec": spec}


def _job(jobs: Object, row: dict[str, Any], number: int, *, rests: bool) -> Object:
    name = jobs["metadata"]["name"]
    labels = {NAME: name, ROLE: row["name"], INDEX: str(number)}
    outer = row["template"]
    spec = dict(outer["spec"])
    template = dict(spec["template"])
    metadata = dict(template.get("metadata") or {})
    metadata["labels"] = {**(metadata.get("labels") or {}), **labels}
    pods = {**template["spec"], "subdomain": name}
    pods.setdefault("restartPolicy", "OnFailure")
    spec |= {"suspend": rests, "template": {**template, "metadata": metadata, "spec": pods}}
    spec.setdefault("completionMode", "Indexed")
    spec.setdefault("parallelism", 1)
    spec.setdefault("completions", spec["parallelism"])
    own = dict(outer.get("metadata") or {})
    own |= {"name": f"{name}-{row['name']}-{number}"}
    own["labels"] = {**(own.get("labels") or {}), **labels}
    return {"metadata": own, "spec": spec}
