"""Claims that ask for more than they have: drivers make their volumes larger, or say why not."""

from collections.abc import Callable
from typing import Any

from playground.cluster.control.loop import Controller, moment_of, seconds
from playground.cluster.control.world import World
from playground.cluster.objects.conditions import condition
from playground.cluster.objects.kinds import CLAIM, STORAGE_CLASS, VOLUME, Object
from playground.cluster.objects.operations import stamp
from playground.cluster.objects.quantities import parse_quantity
from playground.cluster.objects.storage_rules import volume_of
from playground.cluster.objects.store import Key, key_of

SOURCE = "persistentvolume-controller"
# A class of the playground may have file systems that grow only when a pod mounts the claim.
NODE_EXPANDS = "playground/node-expansion"
_PENDING = "FileSystemResizePending"
USUAL_SECONDS, RETRY_SECONDS = 5.0, 60.0
# What a driver does by the name of a volume and its new size: it says why it cannot.
Growers = dict[str, Callable[[str, int], str]]


class Growing:
    """The external resizer of every driver."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.growers: Growers = {}

    def reconcile(self, of: Controller, key: Key, claim: Object, *, used: bool) -> None:
        """Takes a bound claim one look further; `of` is who is woken for it.

        `used`: whether a pod on a node mounts it, so that its file system can grow.
        """
        volume = volume_of(self._world.store, claim)
        wanted = claim["spec"]["resources"]["requests"]["storage"]
        if volume is None or parse_quantity(wanted) <= parse_quantity(_capacity(claim)):
            return
        driver = (volume["spec"].get("csi") or {}).get("driver", SOURCE)
        if condition(claim, _PENDING) is not None:
            self._mount(key, claim, driver, used=used)
            return
        row, name = condition(claim, "Resizing"), volume["metadata"]["name"]
        if row is None:
            words = f"External resizer is resizing volume {name}"
            self._world.record(CLAIM, claim, ("Resizing", words), f"external-resizer {driver}")
            self._world.change(CLAIM, key, lambda obj: _resizing(obj, stamp(self._world.now)))
            self._world.loop.wake(of, key, self._world.now + seconds(USUAL_SECONDS))
            return
        if self._world.now < moment_of(row["lastTransitionTime"]) + seconds(USUAL_SECONDS):
            return
        grower = self.growers.get(driver)
        problem = grower(name, int(parse_quantity(wanted))) if grower else ""
        if problem:
            self._fail(key, claim, problem, driver)
            self._world.loop.wake(of, key, self._world.now + seconds(RETRY_SECONDS))
            return
        size = {"storage": wanted}
        self._world.change(
            VOLUME, key_of(volume), lambda obj: obj["spec"].update({"capacity": size})
        )
        self._mount(key, claim, driver, used=used or not self._is_for_a_node(claim))

    def _is_for_a_node(self, claim: Object) -> bool:
        name = claim["spec"].get("storageClassName") or ""
        found = self._world.store.get(STORAGE_CLASS, "", name)
        return found is not None and (found.get("parameters") or {}).get(NODE_EXPANDS) == "true"

    def _mount(self, key: Key, claim: Object, driver: str, *, used: bool) -> None:
        """Grows the file system if a pod mounts the claim, else says that it waits for one."""
        if not used:
            if condition(claim, _PENDING) is None:
                why = (_PENDING, "Require file system resize of volume on node")
                self._world.record(CLAIM, claim, why, f"external-resizer {driver}")
                now = stamp(self._world.now)
                self._world.change(CLAIM, key, lambda obj: _waits_for_a_node(obj, now))
            return
        size = {"storage": claim["spec"]["resources"]["requests"]["storage"]}
        self._world.change(CLAIM, key, lambda obj: _grown(obj, size))
        why = ("VolumeResizeSuccessful", "Resize volume succeeded")
        self._world.record(CLAIM, claim, why, f"external-resizer {driver}")

    def _fail(self, key: Key, claim: Object, problem: str, driver: str) -> None:
        """Says why it did not work."""
        words = f'resize volume "{claim["spec"]["volumeName"]}" by resizer "{driver}" failed: '
        why = ("VolumeResizeFailed", words + problem)
        self._world.record(CLAIM, claim, why, f"external-resizer {driver}", warning=True)
        now = stamp(self._world.now)
        self._world.change(CLAIM, key, lambda obj: _troubled(obj, problem, now))


def _capacity(claim: Object) -> str:
    size: str = claim["status"].get("capacity", {}).get("storage", "0")
    return size


def _resizing(claim: Object, now: str) -> None:
    row = {"type": "Resizing", "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
    claim["status"]["conditions"] = [row]


def _waits_for_a_node(claim: Object, now: str) -> None:
    words = "Waiting for user to (re-)start a pod to finish file system resize of volume on node."
    row: Object = {"type": _PENDING, "status": "True", "message": words}
    row |= {"lastProbeTime": None, "lastTransitionTime": now}
    claim["status"]["conditions"] = [row]


def _troubled(claim: Object, problem: str, now: str) -> None:
    row: Object = {"type": "ControllerResizeError", "status": "True", "message": problem}
    row |= {"lastProbeTime": None, "lastTransitionTime": now}
    kept = [each for each in claim["status"]["conditions"] if each["type"] == "Resizing"]
    claim["status"]["conditions"] = [*kept, row]


def _grown(claim: Object, size: dict[str, Any]) -> None:
    claim["status"] |= {"capacity": size}
    claim["status"].pop("conditions", None)
