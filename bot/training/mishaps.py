"""Explains failures of runs in a cluster, each with what to try next."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from bot.cluster.api.answers import who_forbids
from bot.cluster.types.events import Event
from bot.cluster.types.objects import Condition, ContainerWaiting, Pod, Terminated, find_condition
from bot.durations import format_duration
from bot.masking import mask
from bot.training.kinds.pods.shell import LACKING
from bot.training.pods import exit_of

_LONGEST_QUOTE = 300
_SIGNALLED = 128
_NOT_EXECUTABLE, _NOT_FOUND = 126, 127
_KILLED, _ABORTED, _SEGMENTATION_FAULT = 9, 6, 11

_SAY_RIGHT = "Stop the run and submit it with the correct one."
_WAIT_FOR_STORAGE = (
    "It starts automatically once that works. A storage admin can see why it does not."
)
_READ_LAST_LINES = (
    "Its last lines show what went wrong. Resubmit starts it again once that is fixed."
)
_ASK_ABOUT_POLICY = (
    "Change what the policy rejects and submit the run again, or ask a platform admin about the"
    " policy."
)
_NOT_MADE = {"FailedCreate", "FailedCreatePod", "MPIJobFailed"}
_NOT_CREATED = re.compile(r"^(Error creating|(worker|launcher) pod created failed): ")
_REFUSED_BY_ADMISSION = re.compile(r"is forbidden: |denied the request")
_ANOTHER_IMAGE = "Submit it with an image that has it."
_MORE_MEMORY = "Submit it with more `--memory`, or with smaller batches."


@dataclass(frozen=True)
class FailureReason:
    """A failure reason as a sentence, and what to try next as another.

    One that `is_final` does not resolve by itself; one that `is_plain` says that a program failed
    but not why.
    """

    said: str
    advice: str = ""
    is_final: bool = False
    is_plain: bool = False

    def __bool__(self) -> bool:
        """Whether there is a failure."""
        return bool(self.said)


FINE = FailureReason("")


def of_pod(pod: Pod, memory: str = "") -> FailureReason:
    """Why a pod failed; `memory` is the limit of its program."""
    end = exit_of(pod)
    if pod.status.reason == "Evicted":
        return FailureReason(
            f"Its pod was evicted from its node: {quoted(pod.status.message or 'reason unknown')}",
            "Request the memory it needs with `--memory`, and write large files to a PVC.",
        )
    if end is None:
        said = pod.status.message or pod.status.reason or "reason unknown"
        return FailureReason(
            f"Its pod failed: {quoted(said)}", "Resubmit starts it again.", is_plain=True
        )
    return of_end(end, memory)


def of_end(end: Terminated, memory: str = "") -> FailureReason:
    """Why a program ended; `memory` is its limit."""
    if end.reason == "OOMKilled":
        limit = f"its limit of {memory}" if memory else "its limit"
        said = f"Its program used more memory than {limit} and was killed (OOMKilled)."
        return FailureReason(said, _MORE_MEMORY)
    if end.reason in {"StartError", "ContainerCannotRun"}:
        return FailureReason(
            f"Its program could not be started: {quoted(end.message)}",
            "Check the command after `--`, and that the image has that program.",
        )
    return _of_exit(end)


def of_deadline(seconds: int) -> FailureReason:
    """The reason of a run that reached its time limit."""
    lasted = format_duration(timedelta(seconds=seconds))
    return FailureReason(
        f"It reached its time limit of {lasted}.",
        "Submit it with a longer `--time` to continue from its last checkpoint.",
    )


def of_scheduling(condition: Condition) -> FailureReason:
    """Why no node can run a pod."""
    said = condition.message or condition.reason
    for pattern, mishap in _CLAIMS:
        if match := pattern.search(said):
            return mishap(match[1] if pattern.groups else "", said)
    return FailureReason(
        f"No node can run its pod: {quoted(said)}",
        "It starts automatically when a node can. A smaller run may fit sooner.",
    )


def of_container(waiting: ContainerWaiting) -> FailureReason:
    """Why a container does not start; FINE when it is about to."""
    if waiting.reason == "CrashLoopBackOff":
        return FailureReason(_AGAIN_AND_AGAIN, _SEE_BEFORE)
    if waiting.reason not in _STUCK:
        return FINE
    if _IS_ROOT.search(waiting.message):
        said = f"Its pods must not run as root, but its image does: {quoted(waiting.message)}"
        return FailureReason(said, _BE_SOMEBODY, is_final=True)
    said, advice = _STUCK[waiting.reason]
    return FailureReason(f"{said}: {quoted(waiting.message or waiting.reason)}", advice)


def of_node(name: str, *, is_gone: bool) -> FailureReason:
    """The reason of a pod whose node is lost."""
    if is_gone:
        said = f"Its node {name} no longer exists."
        return FailureReason(said, "It restarts automatically once the cluster has noticed.")
    return FailureReason(
        f"Its node {name} does not respond, so it is unknown whether the run is still running.",
        f"It continues when the node is back, or starts elsewhere when an admin deletes {name}.",
    )


def of_claim(name: str, *, is_lost: bool) -> FailureReason:
    """The reason of a run whose PVC is being deleted or has lost its volume."""
    if is_lost:
        return FailureReason(f"Its PVC {name} has lost its volume.", _ASK_FOR_STORAGE)
    return FailureReason(
        f"Its PVC {name} was deleted: Kubernetes removes it once no pod uses it.",
        "Copy the data you need from it before this run ends.",
    )


def of_provisioning(claim: str, event: Event) -> FailureReason:
    """The reason of a PVC for which no volume can be provisioned."""
    said = f"No volume can be provisioned for its PVC {claim}: {quoted(event.message)}"
    return FailureReason(said, _WAIT_FOR_STORAGE)


def of_warning(event: Event) -> FailureReason:
    """The reason in a warning of Kubernetes about a pod that does not start."""
    text = event.message
    if "Multi-Attach error" in text:
        return FailureReason(
            f"Its volume is still attached to another node: {quoted(text)}",
            "It starts when the pod there ends. Many nodes can mount a ReadWriteMany PVC at once.",
        )
    if "exceeded quota" in text:
        return over_quota(text)
    if event.reason in _NOT_MADE and _is_denied(text):
        said = f"The cluster rejects its pods: {quoted(text)}"
        return FailureReason(said, _ASK_ABOUT_POLICY, is_final=True)
    if event.reason in _WARNINGS:
        said, advice = _WARNINGS[event.reason]
        return FailureReason(f"{said}: {quoted(text)}", advice)
    return FailureReason(f"Kubernetes warns ({event.reason}): {quoted(text)}")


def _is_denied(text: str) -> bool:
    """Whether a controller could not create a pod because a policy denies it."""
    said = _NOT_CREATED.sub("", text)
    return _REFUSED_BY_ADMISSION.search(said) is not None and who_forbids(said) == "Denied"


def over_quota(text: str) -> FailureReason:
    """The reason of a run that exceeds a ResourceQuota, in the words of the API server."""
    return FailureReason(
        f"The namespace's ResourceQuota has no capacity for it: {quoted(text)}",
        "It starts automatically when others there end, or when an admin raises that quota.",
    )


def disruption_of(pod: Pod, taker: str = "a pod with a higher priority") -> str:
    """Why a pod was disrupted without its own fault; empty if it was not, or its queue says.

    `taker` is the pod for which the scheduler preempted it.
    """
    found = find_condition(pod.status.conditions, "DisruptionTarget")
    if found is None or not found.true:
        return ""
    if found.reason == "TerminationByKubelet" and pod.status.reason == "Evicted":
        return of_pod(pod).said
    return _DISRUPTIONS.get(found.reason, "").format(taker=taker)


def quoted(text: str) -> str:
    """The message of a server on one line, without secrets, as the end of a sentence."""
    flat = mask(" ".join(text.split()))
    cut = flat if len(flat) <= _LONGEST_QUOTE else f"{flat[:_LONGEST_QUOTE]}…"
    return cut if cut.endswith((".", "…", "!", "?")) else f"{cut}."


def _of_exit(end: Terminated) -> FailureReason:
    if end.exit_code == LACKING and end.message:
        return FailureReason(quoted(end.message), _ANOTHER_IMAGE)
    signal = end.signal or max(0, end.exit_code - _SIGNALLED)
    said = f"Its program ended with exit code {end.exit_code}."
    if end.signal:
        said = f"Its program was terminated by signal {end.signal}."
    if signal == _KILLED:
        advice = f"It was killed, most often for lack of memory. {_MORE_MEMORY}"
        return FailureReason(said, advice, is_plain=True)
    if signal in {_ABORTED, _SEGMENTATION_FAULT}:
        advice = "The program itself crashed. Its last lines, or another version of it, may help."
        return FailureReason(said, advice, is_plain=True)
    if end.exit_code in {_NOT_EXECUTABLE, _NOT_FOUND}:
        advice = (
            "A command was not found or could not run. Check the command after `--` and the image."
        )
        return FailureReason(said, advice, is_plain=True)
    return FailureReason(said, _READ_LAST_LINES, is_plain=True)


def _missing(claim: str, said: str) -> FailureReason:
    del said
    return FailureReason(
        f"Its PVC {claim} does not exist.",
        "It starts when a PVC of that name exists. Or stop it and submit it with another PVC.",
    )


def _leaving(claim: str, said: str) -> FailureReason:
    del said
    return FailureReason(f"Its PVC {claim} is being deleted.", _SAY_RIGHT)


def _unbound(claim: str, said: str) -> FailureReason:
    del claim
    return FailureReason(f"Its PVC has no volume yet: {quoted(said)}", _WAIT_FOR_STORAGE)


_ASK_FOR_STORAGE = "A storage admin has to restore it, or find out where it went."
_CLAIMS: tuple[tuple[re.Pattern[str], Callable[[str, str], FailureReason]], ...] = (
    (re.compile(r'persistentvolumeclaim "([^"]+)" not found'), _missing),
    (re.compile(r'persistentvolumeclaim "([^"]+)" is being deleted'), _leaving),
    (re.compile(r'persistentvolumeclaim "([^"]+)" bound to non-existent'),
     lambda claim, _: of_claim(claim, is_lost=True)),
    (re.compile(r"unbound immediate PersistentVolumeClaims"), _unbound),
    (re.compile(r"bound to non-existent pv"),
     lambda _, __: FailureReason("One of its PVCs has lost its volume.", _ASK_FOR_STORAGE)),
)  # fmt: skip
_NO_IMAGE = "Stop it and submit it with an image that the team's pull secrets can read."
_NO_SETTINGS = "It starts automatically when that exists. Or stop it and submit it without."
# The kubelet's words; it says them again for ever.
_IS_ROOT = re.compile(
    r"runAsNonRoot and image (will run as root|has non-numeric user)|breaks non-root"
)
_BE_SOMEBODY = (
    "Use an image whose USER is a number above 0. Or ask a platform admin to set"
    " `admission.run_as_user: 1000` for the team in quartermaster.yaml, or"
    " `admission.security: baseline`, which allows root."
)
_AGAIN_AND_AGAIN = (
    "The program of a pod ends repeatedly, and waits longer each time before it restarts."
)
_SEE_BEFORE = (
    "Its earlier output shows why: `/train logs RUN --previous`, with `--pod` for one pod."
)
_STUCK: Mapping[str, tuple[str, str]] = {
    "ErrImagePull": ("Its image cannot be pulled", _NO_IMAGE),
    "ImagePullBackOff": ("Its image cannot be pulled", _NO_IMAGE),
    "InvalidImageName": ("The name of its image is not valid", _SAY_RIGHT),
    "ErrImageNeverPull": ("Its image is not allowed to be pulled", _NO_IMAGE),
    "CreateContainerConfigError": ("Its container cannot be configured", _NO_SETTINGS),
    "CreateContainerError": ("Its container cannot be created", _NO_SETTINGS),
    "RunContainerError": ("Its container cannot be started", _SAY_RIGHT),
}
_LOOK_AT_PODS = ("The cluster does not let its pod be created", "An admin has to check that.")
_WARNINGS: Mapping[str, tuple[str, str]] = {
    "FailedMount": ("Its volume cannot be mounted", _WAIT_FOR_STORAGE),
    "FailedAttachVolume": ("Its volume cannot be attached to the node", _WAIT_FOR_STORAGE),
    "FailedMapVolume": ("Its volume cannot be mapped", _WAIT_FOR_STORAGE),
    "FailedCreate": _LOOK_AT_PODS,
    "FailedCreatePod": _LOOK_AT_PODS,
}
_DISRUPTIONS: Mapping[str, str] = {
    "PreemptionByScheduler": "Its pod was preempted for {taker}.",
    "EvictionByEvictionAPI": "Its pod was evicted from its node, as when a node is drained.",
    "DeletionByTaintManager": "Its node does not respond, so its pod was evicted.",
    "DeletionByPodGC": "Its node no longer exists, so its pod was deleted.",
    "TerminationByKubelet": "Its node shut down.",
}
