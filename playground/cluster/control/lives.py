"""The lives of pods as their kubelets know them: each run of each container."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from playground.cluster.control.pod_status import Shown, running, terminated, waiting
from playground.cluster.control.training import Training
from playground.cluster.objects.kinds import Object


@dataclass
class Run:
    """One run of one container."""

    training: Training
    started: datetime
    ended: datetime | None = None
    code: int = 0
    reason: str = ""
    own_end: bool = True


@dataclass
class Life:
    """A pod as its kubelet knows it; the runs of each container, the last one last."""

    bound: datetime
    runs: dict[str, list[Run]] = field(default_factory=dict)
    pulled: bool = False


def restarts(pod: Object, run: Run) -> bool:
    """Whether a container that ended like this runs again."""
    policy = pod["spec"].get("restartPolicy", "Always")
    return bool(policy == "Always" or (policy == "OnFailure" and run.code))


def shown(pod: Object, name: str, runs: list[Run]) -> Shown:
    """What is reported about a container after these runs."""
    run = runs[-1]
    earlier = runs[-2] if len(runs) > 1 else None
    last = ended(earlier) if earlier else {}
    if run.ended is None:
        return Shown(running(run.started), last, len(runs) - 1)
    if not restarts(pod, run):
        return Shown(ended(run), last, len(runs) - 1)
    words = f"back-off restarting failed container={name} pod={pod['metadata']['name']}"
    return Shown(waiting("CrashLoopBackOff", words).state, ended(run), len(runs) - 1)


def ended(run: Run) -> dict[str, Any]:
    """The state of a container whose run is over."""
    return terminated(run.code, run.reason, run.started, run.ended or run.started)


def phase_of(pod: Object, life: Life) -> str:
    """The phase of a pod whose containers have run."""
    last = [runs[-1] for runs in life.runs.values()]
    if any(run.ended is None or restarts(pod, run) for run in last):
        return "Running"
    return "Failed" if any(run.code for run in last) else "Succeeded"
