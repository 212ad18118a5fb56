"""The kubelet of every node: creates containers, lets training pretend, ends pods gracefully."""

from collections.abc import Iterable
from datetime import datetime

from playground.cluster.control import image_users
from playground.cluster.control.images import pull_failure, pull_words
from playground.cluster.control.job_counts import is_ended
from playground.cluster.control.lives import (
    CRASH_SECONDS,
    Life,
    Run,
    back_off_seconds,
    ended,
    phase_of,
    restarts,
    shown,
)
from playground.cluster.control.loop import moment_of, seconds
from playground.cluster.control.mounts import (
    attach_problem,
    claim_problem,
    config_problems,
    mount_problem,
)  # fmt: skip
from playground.cluster.control.pod_status import (
    Shown,
    beginnings,
    containers_of,
    report,
    waiting,
)
from playground.cluster.control.programs import Programs
from playground.cluster.control.training import Training, behaviour_of
from playground.cluster.control.world import World
from playground.cluster.objects.conditions import set_condition
from playground.cluster.objects.kinds import CONFIG_MAP, POD, SECRET, Object
from playground.cluster.objects.store import Change, Key

SOURCE = "kubelet"
STATIC = "playground/static"
KILLED, TOLD = 137, 143


class Kubelet:
    """Moves bound pods from creating to running to their end."""

    def __init__(self, world: World, behaviours: dict[str, Training]) -> None:
        self._world = world
        self.behaviours = behaviours
        self.programs = Programs(world.store)
        self.missing_images: set[str] = set()
        self.image_users = dict(image_users.KNOWN)
        self.mount_failures: dict[str, str] = {}
        self.lost_nodes: set[str] = set()
        self.creation_seconds = 3.0
        self.lives: dict[str, Life] = {}
        self._stuck: dict[Key, None] = {}

    def wants(self, change: Change) -> Iterable[Key]:
        """Bound pods that changed, and stuck ones when what they miss may have come."""
        if change.kind == POD.qualified:
            if change.type == "DELETED" or is_ended(change.obj):
                yield from [key for key in self._stuck if key[0] == change.key[0]]
            if change.type == "DELETED":
                self._forget(change.obj["metadata"]["uid"])
                self._stuck.pop(change.key, None)
            elif change.obj["spec"].get("nodeName") and not _static(change.obj):
                yield change.key
        elif change.kind in {SECRET.qualified, CONFIG_MAP.qualified}:
            yield from [key for key in self._stuck if key[0] == change.key[0]]

    def reconcile(self, key: Key) -> None:
        """Takes a pod to where it should be now, and says when to look again."""
        pod = self._world.store.get(POD, *key)
        if pod is None or pod["spec"]["nodeName"] in self.lost_nodes:
            self._world.loop.wake(self, key, None)
            return
        if is_ended(pod):
            self._confirm(key, pod)
            return
        life = self.lives.setdefault(pod["metadata"]["uid"], Life(self._world.now))
        if pod["metadata"].get("deletionTimestamp"):
            again = self._terminate(key, pod, life)
        elif not life.runs:
            again = (self._begin if life.first else self._create)(key, pod, life)
        else:
            again = self._watch(key, pod, life)
        self._world.loop.wake(self, key, again)

    def take_ended(self) -> None:
        """Looks at the pods whose programs have ended."""
        while self.programs.ended:
            self._world.loop.mark(self, self.programs.ended.popleft())

    def evict(self, key: Key, words: str) -> None:
        """Ends a pod for what its node lacks, in these words."""
        pod = self._world.store.get(POD, *key)
        life = self.lives.get(pod["metadata"]["uid"]) if pod else None
        if pod is None or life is None or is_ended(pod):
            return
        states = beginnings(pod)
        for name, runs in life.every.items():
            run = runs[-1]
            if not (run.comes_first and run.ended):
                run.kill()
                run.ended, run.own_end = self._world.now, False
                run.code, run.reason = KILLED, "Error"
            states[name] = Shown(ended(run))

        def edit(obj: Object) -> None:
            report(obj, states, "Failed", self._world.now)
            obj["status"] |= {"reason": "Evicted", "message": words}
            why = ("TerminationByKubelet", words)
            set_condition(obj, "DisruptionTarget", status=True, why=why, now=self._world.now)

        self._world.record(POD, pod, ("Evicted", words), SOURCE, warning=True)
        self._world.change(POD, key, edit)

    def wake_node(self, node: str) -> None:
        """Looks at all pods of a node, after it was found again."""
        for pod in list(self._world.store.all(POD)):
            if pod["spec"].get("nodeName") == node and not _static(pod):
                self._world.loop.mark(self, (pod["metadata"]["namespace"], pod["metadata"]["name"]))

    def retry(self) -> None:
        """Looks at stuck pods again, after what they miss has come."""
        for key in self._stuck:
            self._world.loop.mark(self, key)

    def image_missing(self, image: str) -> bool:
        """Whether no registry has this image."""
        return image in self.missing_images or "/missing/" in image or "/missing:" in image

    def _confirm(self, key: Key, pod: Object) -> None:
        self._world.loop.wake(self, key, None)
        if pod["metadata"].get("deletionTimestamp"):
            self._world.deletion.finish(POD, key)

    def _create(self, key: Key, pod: Object, life: Life) -> datetime | None:
        if not pod["status"].get("containerStatuses"):
            states = beginnings(pod)
            self._report(key, states, "Pending")
        ready = life.bound + seconds(self.creation_seconds)
        if self._unmountable(key, pod):
            return None
        if not life.pulled and not self._pull_begun(pod, life):
            return ready
        if self._world.now < ready:
            return ready
        if self._broken_images(key, pod):
            gives_up = ready + seconds(CRASH_SECONDS)
            return gives_up if self._world.now < gives_up else None
        if self._misconfigured(key, pod):
            return None
        self._stuck.pop(key, None)
        return self._begin(key, pod, life)

    def _unmountable(self, key: Key, pod: Object) -> bool:
        store = self._world.store
        failed = attach_problem(store, pod)
        if failed:
            why = ("FailedAttachVolume", failed)
            self._world.record(POD, pod, why, "attachdetach-controller", warning=True)
        problem = mount_problem(store, pod) or claim_problem(store, pod, self.mount_failures)
        if problem:
            self._world.record(POD, pod, ("FailedMount", problem), SOURCE, warning=True)
        if failed or problem:
            self._stuck[key] = None
        return bool(failed or problem)

    def _pull_begun(self, pod: Object, life: Life) -> bool:
        life.pulled = True
        for container in containers_of(pod):
            self._world.record(
                POD, pod, ("Pulling", f'Pulling image "{container["image"]}"'), SOURCE
            )
        return False

    def _broken_images(self, key: Key, pod: Object) -> bool:
        images = ((each["name"], each["image"]) for each in containers_of(pod))
        absent = {name: image for name, image in images if self.image_missing(image)}
        if not absent:
            return False
        self._stuck[key] = None
        life = self.lives[pod["metadata"]["uid"]]
        first = self._world.now < life.bound + seconds(self.creation_seconds + CRASH_SECONDS)
        states = beginnings(pod)
        for name, image in absent.items():
            states[name] = waiting(*pull_failure(image, first=first))
            failed = f'Failed to pull image "{image}": {pull_words(image)}'
            self._world.record(POD, pod, ("Failed", failed), SOURCE, warning=True)
            self._world.record(POD, pod, ("BackOff", f'Back-off pulling image "{image}"'), SOURCE)
        self._report(key, states, "Pending")
        return True

    def _misconfigured(self, key: Key, pod: Object) -> bool:
        problems = config_problems(self._world.store, pod, self.image_users)
        for problem in problems.values():
            self._world.record(POD, pod, ("Failed", f"Error: {problem}"), SOURCE, warning=True)
        if problems:
            self._stuck[key] = None
            failed = {n: waiting("CreateContainerConfigError", why) for n, why in problems.items()}
            self._report(key, beginnings(pod) | failed, "Pending")
        return bool(problems)

    def _begin(self, key: Key, pod: Object, life: Life) -> datetime | None:
        """Runs init containers one after the other, then starts the others."""
        for container in pod["spec"].get("initContainers") or ():
            name = container["name"]
            if name not in life.first:
                life.first[name] = [self._start(pod, container, comes_first=True)]
            again = self._watch(key, pod, life)
            run = life.first[name][-1]
            if run.ended is None or run.code:
                return again
        for container in pod["spec"]["containers"]:
            life.runs[container["name"]] = [self._start(pod, container)]
        return self._watch(key, pod, life)

    def _start(self, pod: Object, container: Object, *, comes_first: bool = False) -> Run:
        took = f"{self.creation_seconds:.3f}s".replace(".000s", "s")
        run = self._run(pod, container, comes_first=comes_first)
        for why in (
            ("Pulled", f'Successfully pulled image "{container["image"]}" in {took}'),
            ("Created", f"Created container: {container['name']}"),
            ("Started", f"Started container {container['name']}"),
        ):
            self._world.record(POD, pod, why, SOURCE)
        return run

    def _watch(self, key: Key, pod: Object, life: Life) -> datetime | None:
        upcoming = [self._advance(pod, name, runs) for name, runs in life.every.items()]
        known = {name: shown(pod, name, runs) for name, runs in life.every.items()}
        self._report(key, beginnings(pod) | known, phase_of(pod, life))
        return min(filter(None, upcoming), default=None)

    def _advance(self, pod: Object, name: str, runs: list[Run]) -> datetime | None:
        """Ends a run that is over, starts the next where the pod wants one."""
        run = runs[-1]
        if run.ended is None:
            again = run.take_end(self._world.now)
            if run.ended is None:
                return again
        if not restarts(pod, run):
            return None
        again = run.ended + seconds(back_off_seconds(runs))
        if self._world.now < again:
            why = ("BackOff", f"Back-off restarting failed container {name}")
            self._world.record(POD, pod, why, SOURCE, warning=True)
            return again
        container = next(each for each in containers_of(pod) if each["name"] == name)
        runs.append(self._run(pod, container, comes_first=run.comes_first))
        return self._advance(pod, name, runs)

    def _run(self, pod: Object, container: Object, *, comes_first: bool) -> Run:
        """A run that begins now: a program where there is one for the image.

        What comes first and only pretends has ended well at once.
        """
        training, now = behaviour_of(pod, container, self.behaviours), self._world.now
        run = Run(training, now, comes_first=comes_first)
        run.program = self.programs.start(pod, container)
        if comes_first and run.program is None:
            run.ended, run.reason = now, "Completed"
        return run

    def _forget(self, uid: str) -> None:
        life = self.lives.pop(uid, None)
        for runs in life.every.values() if life else ():
            runs[-1].kill()

    def _terminate(self, key: Key, pod: Object, life: Life) -> datetime | None:
        metadata = pod["metadata"]
        grace = metadata["deletionGracePeriodSeconds"]
        told = moment_of(metadata["deletionTimestamp"]) - seconds(grace)
        states = beginnings(pod)
        for name, runs in life.every.items():
            run = runs[-1]
            takes = min(run.training.stop_seconds, grace) if run.program is None else grace
            if run.ended is None and run.stops(told, grace, self._world.now):
                why = ("Killing", f"Stopping container {name}")
                self._world.record(POD, pod, why, SOURCE)
                return told + seconds(takes)
            if run.ended is None:
                run.kill()
                run.ended, run.own_end = max(run.started, self._world.now), False
                run.code = TOLD if run.training.stop_seconds <= grace else KILLED
                run.reason = "Error"
            states[name] = Shown(ended(run))
        self._report(key, states, "Failed")
        self._world.deletion.finish(POD, key)
        return None

    def _report(self, key: Key, states: dict[str, Shown], phase: str) -> None:
        self._world.change(POD, key, lambda obj: report(obj, states, phase, self._world.now))


def _static(pod: Object) -> bool:
    return STATIC in (pod["metadata"].get("annotations") or ())
