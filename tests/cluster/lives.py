"""How the pods of stories live on KWOK's nodes: as `Training` says, in the story's time.

A stage per image keeps its pods running. They are told to end, and how, by annotations
(pods.yaml), once the story's clock says so; what they say is written to files that KWOK serves.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event, Thread

import httpx

from playground.clock import VirtualClock
from playground.cluster.control.training import OUT_OF_MEMORY, Training, behaviour_of, lines
from tests.cluster.api import ApiError, Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.kwok import POD_ENDS, POD_EXIT_CODE, POD_SECONDS
from tests.cluster.motion import moving
from tests.cluster.site import CLUSTER_QUEUES, JOBS, WORKLOADS

_OVER = "pod.quartermaster.test/over"
_LOGS, _STAGES = "logs.kwok.x-k8s.io", "stages.kwok.x-k8s.io"
_LOOK_SECONDS = 0.15
_FOR_EVER = timedelta(days=3650)
_LOOKED_AT = ("pods", JOBS, WORKLOADS, CLUSTER_QUEUES)


@dataclass
class _Life:
    """A pod that has started, in the story's time."""

    training: Training
    started: datetime
    file: Path
    is_over: bool = False

    @property
    def end(self) -> datetime | None:
        """When it ends by itself."""
        lasts = self.training.seconds
        return None if lasts is None else self.started + timedelta(seconds=lasts)

    def write(self, until: datetime, *, ended: bool) -> None:
        """Writes what it has said, as container runtimes do."""
        said = lines(self.training, self.started, until, ended=ended)
        text = "".join(f"{at:%Y-%m-%dT%H:%M:%S.%f}Z stdout F {line}\n" for at, line in said)
        new = self.file.with_suffix(".new")
        new.write_text(text, encoding="utf-8")
        new.replace(self.file)


class Lives:
    """The pods of one story; looked at several times a second while it is played.

    `looks` counts the looks, `changes` those that saw something new, and `moving` names what
    controllers were busy with at the last one.
    """

    def __init__(
        self, plane: ControlPlane, clock: VirtualClock, behaviours: Mapping[str, Training]
    ) -> None:
        self._plane, self._api = plane, plane.api
        self._clock = clock
        self._behaviours = behaviours
        self._held: dict[str, str] = {}
        self._lives: dict[str, _Life] = {}
        self._seen: dict[str, str] = {}
        self._stopped = Event()
        self._thread = Thread(target=self._run, name="lives", daemon=True)
        self.looks = self.changes = 0
        self.moving: list[str] = []

    def start(self) -> None:
        """Begins to look."""
        self._thread.start()

    def stop(self) -> None:
        """Looks no more, and lets go of the images."""
        self._stopped.set()
        self._thread.join()
        for stage in self._held.values():
            self._api.delete(_STAGES, stage)

    def holds(self, image: str) -> None:
        """Keeps pods of an image, given without its tag, running until they are told to end."""
        if image in self._held:
            return
        name = f"hold-{image.rpartition('/')[2]}"
        matches = [
            {"key": ".metadata.deletionTimestamp", "operator": "DoesNotExist"},
            {"key": ".status.phase", "operator": "In", "values": ["Running"]},
            {"key": f'.metadata.annotations["{_OVER}"]', "operator": "DoesNotExist"},
            {
                "key": '.spec.containers[0].image | split(":")[0]',
                "operator": "In",
                "values": [image],
            },
        ]
        lasts = int(_FOR_EVER.total_seconds() * 1000)
        stage = {
            "selector": {"matchExpressions": matches},
            "weight": 1,
            "delay": {"durationMilliseconds": lasts},
            "next": {"statusTemplate": ""},
        }
        self._plane.kwok.plays(name, stage)
        self._held[image] = name

    def next_end(self) -> datetime | None:
        """When the next pod that runs will end by itself, in the story's time."""
        ends = [life.end for life in list(self._lives.values()) if not life.is_over]
        return min((end for end in ends if end is not None), default=None)

    def _run(self) -> None:
        while not self._stopped.wait(_LOOK_SECONDS):
            try:
                self._look()
            except (ApiError, httpx.HTTPError):
                continue  # the API server is away, or the pod is gone: looked at again

    def _look(self) -> None:
        found = {resource: self._api.list(resource) for resource in _LOOKED_AT}
        metadata = [each["metadata"] for every in found.values() for each in every]
        seen = {each["uid"]: each["resourceVersion"] for each in metadata}
        if seen != self._seen:
            self._seen = seen
            self.changes += 1
        for gone in self._lives.keys() - seen.keys():
            del self._lives[gone]
        for pod in found["pods"]:
            self._live(pod)
        self.moving = moving(found)
        self.looks += 1

    def _live(self, pod: Object) -> None:
        container = pod["spec"]["containers"][0]
        if container["image"].partition(":")[0] not in self._held:
            return
        statuses = pod["status"].get("containerStatuses", [{}])
        life = self._lives.get(pod["metadata"]["uid"])
        if "running" not in statuses[0].get("state", {}):
            if life:
                life.is_over = True
            return
        if life is None:
            life = self._begin(pod, behaviour_of(pod, container, dict(self._behaviours)))
        now, end = self._clock.now(), life.end
        if end is None or now < end:
            life.write(now, ended=False)
        elif not life.is_over:
            life.write(end, ended=True)
            self._tell_to_end(pod, life.training)
            life.is_over = True

    def _begin(self, pod: Object, training: Training) -> _Life:
        metadata = pod["metadata"]
        place = {"name": metadata["name"], "namespace": metadata["namespace"]}
        file = self._plane.folder / f"{place['namespace']}-{place['name']}.log"
        life = self._lives[metadata["uid"]] = _Life(training, self._clock.now(), file)
        life.write(life.started, ended=False)
        names = [each["name"] for each in pod["spec"]["containers"]]
        spec = {"logs": [{"containers": names, "logsFile": str(file), "follow": False}]}
        body = {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Logs", "metadata": place}
        self._api.apply({**body, "spec": spec})
        return life

    def _tell_to_end(self, pod: Object, training: Training) -> None:
        code, _ = training.ending
        ends = "oom" if code == OUT_OF_MEMORY else "failed" if code else "succeeded"
        said = {_OVER: "yes", POD_SECONDS: "0s", POD_ENDS: ends, POD_EXIT_CODE: str(code)}
        metadata = pod["metadata"]
        change = {"metadata": {"annotations": said}}
        self._api.patch("pods", metadata["name"], change, metadata["namespace"])
