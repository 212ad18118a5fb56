"""What Kueue's webhooks refuse in jobs of all kinds that it manages, and in their changes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from playground.cluster.kueue.frameworks import Framework
from playground.cluster.kueue.slices import ELASTIC, is_elastic
from playground.cluster.kueue.workloads import PRIORITY_LABEL, QUEUE_LABEL, TIME_LABEL
from playground.cluster.objects.errors import Cause, not_allowed, wrong
from playground.cluster.objects.kinds import JOB, MPI_JOB, PYTORCH_JOB, Object
from playground.cluster.objects.names import subdomain_faults

PREBUILT_LABEL = "kueue.x-k8s.io/prebuilt-workload-name"
FEWEST = "kueue.x-k8s.io/job-min-parallelism"
EQUAL = "kueue.x-k8s.io/job-completions-equal-parallelism"
_IMMUTABLE = "field is immutable"
NOT_BOTH = "partial admission and elastic job cannot be used together"
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})


@dataclass(frozen=True)
class Written:
    """A job as it is written, and as it was; `defaulted`: its namespace has a queue `default`."""

    framework: Framework
    new: Object
    old: Object | None
    defaulted: bool = False

    @property
    def suspended(self) -> bool:
        """Whether it rests as it is written."""
        return self.framework.suspended(self.new)


def job_causes(write: Written) -> list[Cause]:
    """Everything that Kueue has against a write."""
    kind = write.framework.kind.qualified
    if kind == JOB.qualified:
        return list(_of_job(write))
    if write.old is None:
        causes = list(_of_new(write))
        return sorted(causes, key=lambda each: each.field) if kind == MPI_JOB.qualified else causes
    changes = list(_of_change(write))
    # The webhook for kinds of the training-operator looks at what changes alone.
    return changes if kind == PYTORCH_JOB.qualified else [*changes, *_of_new(write)]


def _of_job(write: Written) -> Iterator[Cause]:
    yield from _of_new(write)
    if write.old is None or annotation(write.old, FEWEST) != annotation(write.new, FEWEST):
        yield from _of_fewest(write.new)
    yield from _of_equal_counts(write.new)
    if write.old is not None:
        yield from _of_change(write)
        yield from _of_counts_kept(write.old, write.new)


def _of_new(write: Written) -> Iterator[Cause]:
    for name in (QUEUE_LABEL, PREBUILT_LABEL):
        yield from _of_name(write.new, name)
    seconds = label(write.new, TIME_LABEL)
    if seconds is not None:
        yield from _of_seconds(seconds)
    kind = write.framework.kind
    if is_elastic(write.new) and kind.qualified != JOB.qualified:
        words = f'elastic job is not supported for "{kind.api_version}, Kind={kind.kind}"'
        yield not_allowed(_annotation(ELASTIC), words)


def _of_name(job: Object, name: str) -> Iterator[Cause]:
    value = label(job, name)
    if value is not None and (faults := subdomain_faults(value)):
        yield wrong(_label(name), value, ",".join(faults))


def _of_seconds(text: str) -> Iterator[Cause]:
    number = _number(text)
    if number is None:
        yield wrong(_label(TIME_LABEL), text, _no_number(text))
    elif number <= 0:
        yield wrong(_label(TIME_LABEL), number, "should be greater than 0")


def _of_change(write: Written) -> Iterator[Cause]:
    new, old = write.new, write.old or {}
    queues = (label(old, QUEUE_LABEL) or "", label(new, QUEUE_LABEL) or "")
    if not write.suspended and queues[0] != queues[1]:
        yield wrong(_label(QUEUE_LABEL), queues[1], _IMMUTABLE)
    if queues[0] and not queues[1] and write.defaulted:
        words = "queue-name must not be empty in namespace with default queue"
        yield wrong(_label(QUEUE_LABEL), "", words)
    yield from _of_prebuilt_change(write, old)
    rested = write.framework.suspended(old) and write.suspended
    times = (label(old, TIME_LABEL) or "", label(new, TIME_LABEL) or "")
    if not rested and times[0] != times[1]:
        yield wrong(_label(TIME_LABEL), times[1], _IMMUTABLE)
    yield from _of_class_change(write, old)
    if is_elastic(old) != is_elastic(new):
        yield wrong(_annotation(ELASTIC), is_elastic(new), _IMMUTABLE)


def _of_prebuilt_change(write: Written, old: Object) -> Iterator[Cause]:
    if write.suspended or is_elastic(old):
        yield from _of_name(write.new, PREBUILT_LABEL)
    elif (label(old, PREBUILT_LABEL) or "") != (label(write.new, PREBUILT_LABEL) or ""):
        yield wrong(_label(PREBUILT_LABEL), label(write.new, PREBUILT_LABEL) or "", _IMMUTABLE)


def _of_class_change(write: Written, old: Object) -> Iterator[Cause]:
    before, now = label(old, PRIORITY_LABEL) or "", label(write.new, PRIORITY_LABEL) or ""
    if now and not before and not write.suspended:
        words = "WorkloadPriorityClass cannot be added to a non-suspended workload"
        yield wrong(_label(PRIORITY_LABEL), now, words)
    if before and not now:
        words = "WorkloadPriorityClass cannot be removed from a workload"
        yield wrong(_label(PRIORITY_LABEL), now, words)


def _of_fewest(job: Object) -> Iterator[Cause]:
    """The annotation that lets a Job begin with fewer pods."""
    text = annotation(job, FEWEST)
    if text is None:
        return
    number, pods = _number(text), _pods(job)
    if number is None:
        yield wrong(_annotation(FEWEST), text, _no_number(text))
    elif not 0 < number < pods:
        yield wrong(_annotation(FEWEST), number, f"should be between 0 and {pods - 1}")
    if is_elastic(job):
        yield wrong(_annotation(FEWEST), text, NOT_BOTH)


def _of_equal_counts(job: Object) -> Iterator[Cause]:
    text, spec = annotation(job, EQUAL), job["spec"]
    if text is not None and text not in _TRUE | _FALSE:
        words = f'strconv.ParseBool: parsing "{text}": invalid syntax'
        yield wrong(_annotation(EQUAL), text, words)
    if text not in _TRUE:
        return
    if spec.get("completionMode", "NonIndexed") == "NonIndexed":
        yield wrong(_annotation(EQUAL), text, "should not be enabled for NonIndexed jobs")
    if spec.get("parallelism", 1) != spec.get("completions", 1):
        words = f"should be equal to parallelism when {EQUAL} annotation is true"
        yield wrong("spec.completions", spec.get("completions"), words)


def _of_counts_kept(old: Object, new: Object) -> Iterator[Cause]:
    before, now = old["spec"], new["spec"]
    if before.get("suspend"):
        return
    scaled = before.get("parallelism", 1) != now.get("parallelism", 1)
    if scaled and annotation(old, FEWEST) is not None:
        words = "cannot change when partial admission is enabled and the job is not suspended"
        yield not_allowed("spec.parallelism", words)
    turned = (annotation(old, EQUAL) in _TRUE) != (annotation(new, EQUAL) in _TRUE)
    if turned and not now.get("suspend"):
        words = f"{_IMMUTABLE} while the job is not suspended"
        yield not_allowed(_annotation(EQUAL), words)


def label(obj: Object, name: str) -> str | None:
    """A label's value, None where it has none."""
    found: str | None = (obj["metadata"].get("labels") or {}).get(name)
    return found


def annotation(obj: Object, name: str) -> str | None:
    """An annotation's value, None where it has none."""
    found: str | None = (obj["metadata"].get("annotations") or {}).get(name)
    return found


def _pods(job: Object) -> int:
    parallelism: int = job["spec"].get("parallelism", 1)
    return min(parallelism, job["spec"].get("completions") or parallelism)


def _number(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[+-]?[0-9]+", text) else None


def _no_number(text: str) -> str:
    return f'strconv.Atoi: parsing "{text}": invalid syntax'


def _label(name: str) -> str:
    return f"metadata.labels[{name}]"


def _annotation(name: str) -> str:
    return f"metadata.annotations[{name}]"
