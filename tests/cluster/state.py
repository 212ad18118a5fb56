"""How a cluster stands, for somebody who has to find out why a test failed."""

from collections.abc import Iterator

import httpx

from tests.cluster.api import Api, ApiError, Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.site import CLUSTER_QUEUES, JOBS, WORKLOADS

_EVENTS, _CHARACTERS = 25, 2000
_VOLUMES = ("persistentvolumes", "persistentvolumeclaims")
_OBJECTS = ("nodes", CLUSTER_QUEUES, WORKLOADS, JOBS, "pods", *_VOLUMES)
_PROGRAMS = ("kueue", "kube-controller-manager", "kwok")


def control_plane_state(plane: ControlPlane) -> str:
    """Objects with their conditions, the last events, and what the programs said last."""
    lines = [line for resource in _OBJECTS for line in _listed(plane.api, resource)]
    lines.extend(_events(plane.api))
    lines.extend(f"--- {name}\n{plane.log_tail(name)[-_CHARACTERS:]}" for name in _PROGRAMS)
    return "\n".join(lines)


def _listed(api: Api, resource: str) -> Iterator[str]:
    yield f"--- {resource}"
    try:
        for each in api.list(resource):
            yield f"{_name(each['metadata'])}: {_state(each)}"
    except (ApiError, LookupError, AssertionError, httpx.HTTPError) as error:
        yield f"cannot be listed: {error}"


def _state(each: Object) -> str:
    status = each.get("status", {})
    told = [status["phase"]] if "phase" in status else []
    if "deletionTimestamp" in each["metadata"]:
        told.append("being deleted")
    told.extend(_condition(condition) for condition in status.get("conditions", ()))
    return "; ".join(told)


def _condition(told: Object) -> str:
    why = " ".join(word for word in (told.get("reason"), told.get("message")) if word)
    return f"{told['type']}={told['status']} ({why})"


def _events(api: Api) -> Iterator[str]:
    yield "--- last events"
    try:
        events = api.list("events")
    except (ApiError, AssertionError, httpx.HTTPError) as error:
        yield f"cannot be listed: {error}"
        return
    for each in sorted(events, key=_moment)[-_EVENTS:]:
        about = each["involvedObject"]
        said = f"{each.get('reason')}: {each.get('message')}"
        yield f"{_moment(each)} {about['kind']} {about.get('namespace')}/{about['name']} {said}"


def _moment(event: Object) -> str:
    times = (event.get("lastTimestamp"), event.get("eventTime"))
    return next((each for each in times if each), "")


def _name(metadata: Object) -> str:
    return "/".join(part for part in (metadata.get("namespace"), metadata["name"]) if part)
