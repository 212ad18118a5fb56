"""What the operators' webhooks refuse, names among it: they make Services and hosts of them."""

from collections.abc import Iterator
from typing import Any

from playground.cluster.objects.errors import Cause, denied, wrong
from playground.cluster.objects.kinds import JOB_SET, PYTORCH_JOB, Kind, Object
from playground.cluster.objects.names import LONGEST, label_faults
from playground.cluster.objects.operations import Admission
from playground.cluster.objects.store import Store
from playground.cluster.operators.job_rules import torch_causes
from playground.cluster.operators.train_job_rules import TrainJobCheck

_TOO_LONG = f"must be no more than {LONGEST} characters"
_JOB_NAMES = (
    "JobSet name is too long, job names generated for this JobSet will exceed 63 characters"
)
_POD_NAMES = (
    "JobSet name is too long, pod names generated for this JobSet will exceed 63 characters"
)


def operator_webhooks(store: Store) -> tuple[Admission, ...]:
    """What looks at writes of the operators' kinds, in order."""
    return _check, TrainJobCheck(store)


def _check(kind: Kind, obj: Object, _old: Object | None) -> None:
    """Looks at one write, as the webhooks do."""
    if kind.qualified == PYTORCH_JOB.qualified and (causes := torch_causes(obj)):
        raise denied("validator.pytorchjob.training-operator.kubeflow.org", causes)
    if kind.qualified == JOB_SET.qualified and (causes := list(_of_job_set(obj))):
        raise denied("vjobset.kb.io", causes)


def _of_job_set(jobs: Object) -> Iterator[Cause]:
    for number, row in enumerate(jobs["spec"]["replicatedJobs"]):
        job = f"{jobs['metadata']['name']}-{row['name']}-{row.get('replicas', 1) - 1}"
        where, spec = f"spec.replicatedJobs[{number}].name", row["template"]["spec"]
        for made, words in ((job, _JOB_NAMES), (_longest_pod(job, spec), _POD_NAMES)):
            for fault in label_faults(made):
                yield wrong(where, job, words if fault == _TOO_LONG else fault)


def _longest_pod(job: str, spec: dict[str, Any]) -> str:
    return f"{job}-{spec.get('completions', spec.get('parallelism', 1)) - 1}-abcde"
