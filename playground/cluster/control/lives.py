"""The lives of pods as their kubelets know them: each run of each container."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from playground.cluster.control.pod_status import Shown, running, terminated, waiting
from playground.cluster.control.programs import Program
from playground.cluster.control.training import Training
from playground.cluster.objects.kinds import Object

CRASH_SECONDS = 10
LONGEST_CRASH_SECONDS = 300


@dataclass
class Run:
    """One run of one container; one with a program really runs.

    Init containers come first: they run again only if they failed, and have to end well.
    """

    training: Training
    started: datetime
    ended: datetime | None = None
    code: int = 0
    reason: str = ""
    own_end: bool = True
    program: Program | None = None
    comes_first: bool = False

    def kill(self) -> None:
        """Ends what really runs."""
        if self.program is not None:
            self.program.kill()

    def stops(self, told: datetime, grace: float, now: datetime) -> bool:
        """Whether it needs more time to end, after it was told to at that moment."""
        if self.program is None:
            return now < told + timedelta(seconds=min(self.training.stop_seconds, grace))
        self.program.stop()
        return self.program.code() is None and now < told + timedelta(seconds=grace)

    def take_end(self, now: datetime) -> datetime | None:
        """Ends the run if it is over by now; when it ends by itself otherwise, if that is known."""
        if self.program is not None:
            code = self.program.code()
            if code is not None:
                self.ended, self.code = now, code
                self.reason = "Error" if code else "Completed"
            return None
        lasts = self.training.seconds
        if lasts is None:
            return None
        end = self.started + timedelta(seconds=lasts)
        if now >= end:
            self.ended = end
            self.code, self.reason = self.training.ending
        return end


@dataclass
class Life:
    """A pod as its kubelet knows it; the runs of each container, the last one last.

    `first` are those of its init containers.
    """

    bound: datetime
    runs: dict[str, list[Run]] = field(default_factory=dict)
    first: dict[str, list[Run]] = field(default_factory=dict)
    pulled: bool = False

    @property
    def every(self) -> dict[str, list[Run]]:
        """The runs of all containers."""
        return self.first | self.runs


def restarts(pod: Object, run: Run) -> bool:
    """Whether a container that ended like this runs again."""
    policy = pod["spec"].get("restartPolicy", "Always")
    if policy == "Always" and not run.comes_first:
        return True
    return bool(policy != "Never" and run.code)


def back_off_seconds(runs: list[Run]) -> int:
    """How long a container that fails again and again is left alone after these runs."""
    seconds: int = CRASH_SECONDS * 2 ** (len(runs) - 1)
    return min(seconds, LONGEST_CRASH_SECONDS)


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
    state = terminated(run.code, run.reason, run.started, run.ended or run.started)
    if run.training.last_words and run.program is None:
        state["terminated"]["message"] = run.training.last_words
    return state


def phase_of(pod: Object, life: Life) -> str:
    """The phase of a pod whose containers have run, or those that come first."""
    if not life.runs:
        ends = [runs[-1] for runs in life.first.values()]
        is_over = any(run.code and not restarts(pod, run) for run in ends)
        return "Failed" if is_over else "Pending"
    last = [runs[-1] for runs in life.runs.values()]
    if any(run.ended is None or restarts(pod, run) for run in last):
        return "Running"
    return "Failed" if any(run.code for run in last) else "Succeeded"
