"""What the pods of every kind have in common: container, variables, volumes, labels."""

import re
from collections.abc import Sequence
from typing import Any

from bot.cluster import labels
from bot.cluster.types.containers import VISIBLE_GPUS, unexpanded, without_gpus
from bot.datasets.caches.using import WHOLE
from bot.quotas.engines.engine import Placement
from bot.slack.grammar.container_parameters import VolumeMount
from bot.training.kinds.kind import Manifest
from bot.training.kinds.pods.security import secure
from bot.training.kinds.pods.volumes import mounts_of
from bot.training.spec import SHM_PATH, RunSpec, spec_of
from bot.training.tables import Run

# The container with the program, where no operator wants another name.
MAIN = "main"
LONGEST_SLUG = 30
_UNBUFFERED = {"name": "PYTHONUNBUFFERED", "value": "1"}


def object_name(name: str, run_id: str) -> str:
    """The root's name: what people called the run, and what makes it the only one.

    A label of RFC 1035, with room for what operators put behind it in names of hosts.
    """
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "run"
    if slug[0].isdigit():
        # MPIJob, PyTorchJob, TrainJob, JobSet and Service names must begin with a letter.
        slug = f"run-{slug}"
    return f"{slug[:LONGEST_SLUG].strip('-')}-{run_id[-10:]}"


def root_metadata(run: Run, installation: str) -> Manifest:
    """What the root is called and says of whose it is."""
    return {
        "name": run.job_name,
        "namespace": run.namespace,
        "labels": owner_labels(run, installation) | _placing(spec_of(run)).labels,
        "annotations": _annotations(run),
    }


def owner_labels(run: Run, installation: str) -> dict[str, str]:
    """What says that an object is of this run of this installation."""
    return {
        labels.MANAGED_BY: labels.MANAGER,
        labels.INSTALLATION: installation,
        labels.RUN: run.id,
        labels.TEAM: run.team,
        labels.PERSON: run.person,
    }


def pod_template(run: Run, installation: str, spec: RunSpec, **more: Any) -> Manifest:
    """A template of the run's pods; `more` are fields of their spec."""
    return {"metadata": pod_metadata(run, installation, {}), "spec": pod_spec(run, spec) | more}


def pod_metadata(run: Run, installation: str, more: dict[str, str]) -> Manifest:
    """What its pods say of whose they are, with further labels."""
    return {
        "labels": owner_labels(run, installation) | _placing(spec_of(run)).labels | more,
        "annotations": _annotations(run),
    }


def pod_spec(run: Run, spec: RunSpec) -> Manifest:
    """The spec of its pods."""
    placing = _placing(spec)
    pod = _pod(spec, mounts_of(run.job_name, spec))
    if selector := {**spec.node_selector, **placing.node_labels}:
        pod["nodeSelector"] = selector
    if placing.tolerations:
        pod["tolerations"] = [dict(each) for each in placing.tolerations]
    return pod


def _placing(spec: RunSpec) -> Placement:
    return spec.placement or Placement()


def _annotations(run: Run) -> dict[str, str]:
    code = run.spec.get("code")
    return {labels.RUN_NAME: run.reference} | ({labels.PREFIX + "code": code} if code else {})


def _pod(spec: RunSpec, mounts: Sequence[VolumeMount]) -> Manifest:
    pod: Manifest = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": spec.service_account is not None,
        "containers": [_container(spec, mounts)],
        "volumes": _volumes(spec, mounts),
    }
    if spec.service_account:
        pod["serviceAccountName"] = spec.service_account
    if spec.pull_secrets:
        pod["imagePullSecrets"] = [{"name": name} for name in spec.pull_secrets]
    secure(pod, spec)
    return pod


def _container(spec: RunSpec, mounts: Sequence[VolumeMount]) -> Manifest:
    limits = {name: amount for name, amount in spec.requests.items() if name != "cpu"}
    container: Manifest = {
        "name": MAIN,
        "image": spec.image,
        "env": _env(spec),
        "resources": {"requests": spec.requests, "limits": limits},
        "volumeMounts": _mounts(spec, mounts),
    }
    if spec.command:
        container["command"] = list(map(unexpanded, spec.command))
    return container


def _env(spec: RunSpec) -> list[Manifest]:
    given = {each.name for each in spec.env}
    unseen: list[Manifest] = [] if spec.gpus or VISIBLE_GPUS in given else [dict(without_gpus())]
    # Without a terminal Python keeps kilobytes of output back, and the card shows late figures.
    at_once: list[Manifest] = [] if _UNBUFFERED["name"] in given else [dict(_UNBUFFERED)]
    plain: list[Manifest] = [
        {"name": each.name, "value": unexpanded(each.value)} for each in spec.env
    ]
    return (
        unseen
        + at_once
        + plain
        + [
            {"name": s.name, "valueFrom": {"secretKeyRef": {"name": s.secret, "key": s.key}}}
            for s in spec.secrets
        ]
    )


def _volumes(spec: RunSpec, mounts: Sequence[VolumeMount]) -> list[Manifest]:
    volumes: list[Manifest] = [
        {"name": f"claim-{number}", "persistentVolumeClaim": {"claimName": claim}}
        for number, claim in enumerate(_claims(mounts))
    ]
    volumes += [
        {
            "name": f"data-{number}",
            "persistentVolumeClaim": {"claimName": claim, "readOnly": True},
        }
        for number, claim in enumerate(_caches(spec))
    ]
    if not spec.shm_bytes:
        return volumes
    return [{"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": spec.shm}}, *volumes]


def _mounts(spec: RunSpec, mounts: Sequence[VolumeMount]) -> list[Manifest]:
    claims, caches = _claims(mounts), _caches(spec)
    mounted: list[Manifest] = [
        {
            "name": f"claim-{claims.index(mount.claim)}",
            "mountPath": mount.path,
            "readOnly": mount.read_only,
        }
        for mount in mounts
    ]
    mounted += [
        {
            "name": f"data-{caches.index(each.claim)}",
            "mountPath": each.path,
            "readOnly": True,
        }
        | ({"subPath": each.folder} if each.folder != WHOLE else {})
        for each in spec.data
    ]
    return [{"name": "dshm", "mountPath": SHM_PATH}, *mounted] if spec.shm_bytes else mounted


def _claims(mounts: Sequence[VolumeMount]) -> tuple[str, ...]:
    """The PVCs, each once."""
    return tuple(dict.fromkeys(mount.claim for mount in mounts))


def _caches(spec: RunSpec) -> tuple[str, ...]:
    """The PVCs of the caches it reads, each once."""
    return tuple(dict.fromkeys(each.claim for each in spec.data))
