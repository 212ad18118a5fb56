"""What the operators refuse of names: they make Services and hosts of them."""

from collections.abc import Iterator
from typing import Any

from playground.cluster.objects.errors import Cause, denied, invalid, wrong
from playground.cluster.objects.kinds import JOB_SET, PYTORCH_JOB, TRAIN_JOB, Kind, Object
from playground.cluster.objects.names import LONGEST, label_faults
from playground.cluster.objects.operations import Admission
from playground.cluster.objects.store import Store
from playground.cluster.operators.trainer import TrainJobCheck

_TOO_LONG = f"must be no more than {LONGEST} characters"
_JOB_NAMES = (
    "JobSet name is too long, job names generated for this JobSet will exceed 63 characters"
)
_POD_NAMES = (
    "JobSet name is too long, pod names generated for this JobSet will exceed 63 characters"
)


def operator_webhooks(store: Store) -> tuple[Admission, ...]:
    """What looks at writes of the operators' kinds, in order."""
    return _check_names, TrainJobCheck(store)


def _check_names(kind: Kind, obj: Object, _old: Object | None) -> None:
    """Looks at one write, as the webhooks and the CRD of Trainer do."""
    name = obj["metadata"]["name"]
    if kind.qualified == PYTORCH_JOB.qualified:
        if faults := label_faults(name):
            cause = wrong("metadata.name", name, f"should match: {','.join(faults)}")
            raise denied("validator.pytorchjob.training-operator.kubeflow.org", [cause])
    elif kind.qualified == JOB_SET.qualified:
        if causes := list(_of_job_set(obj)):
            raise denied("vjobset.kb.io", causes)
    elif kind.qualified == TRAIN_JOB.qualified and (causes := list(_of_train_job(name))):
        raise invalid(TRAIN_JOB, name, causes)


def _of_train_job(name: str) -> Iterator[Cause]:
    faults = label_faults(name)
    if any(fault != _TOO_LONG for fault in faults):
        yield wrong("<nil>", "object", "metadata.name must match RFC 1035 DNS label format")
    if _TOO_LONG in faults:
        yield wrong("<nil>", "object", f"metadata.name must be no more than {LONGEST} characters")


def _of_job_set(jobs: Object) -> Iterator[Cause]:
    for number, row in enumerate(jobs["spec"]["replicatedJobs"]):
        job = f"{jobs['metadata']['name']}-{row['name']}-{row.get('replicas', 1) - 1}"
        where, spec = f"spec.replicatedJobs[{number}].name", row["template"]["spec"]
        for made, words in ((job, _JOB_NAMES), (_longest_pod(job, spec), _POD_NAMES)):
            for fault in label_faults(made):
                yield wrong(where, job, words if fault == _TOO_LONG else fault)


def _longest_pod(job: str, spec: dict[str, Any]) -> str:
    return f"{job}-{spec.get('completions', spec.get('parallelism', 1)) - 1}-abcde"
